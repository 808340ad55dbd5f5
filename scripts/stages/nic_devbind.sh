#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Stands in for DPDK's dpdk-devbind.py in the guest of scripts/test-nic, which has no Python, and does
# by sysfs what that does.
#
# Usage: dpdk-devbind.py --status-dev net
#        dpdk-devbind.py -b DRIVER ADDRESS...
# shellcheck shell=dash
set -e
DEVICES=/sys/bus/pci/devices

driver() { # driver ADDRESS: prints its name
    [ ! -e "$DEVICES/$1/driver" ] || basename "$(readlink "$DEVICES/$1/driver")"
}

# list TITLE yes | no: the NICs whose driver is for userspace, or is not
list() {
    local dev address name which interface
    printf '\nNetwork devices using %s driver\n====\n' "$1"
    for dev in "$DEVICES"/*; do
        case $(cat "$dev/class") in 0x0200*) ;; *) continue ;; esac
        address=${dev##*/} name=$(driver "${dev##*/}") which=no
        case $name in vfio-pci | uio_pci_generic) which=yes ;; esac
        [ $which = "$2" ] || continue
        interface=
        for interface in "$dev"/net/*; do
            [ -e "$interface" ] && interface=" if=${interface##*/}" || interface=
        done
        printf "%s 'Device %s'%s drv=%s unused=\n" "$address" "$(sed s/0x// "$dev/device")" "$interface" "$name"
    done
}

case $1 in
--status-dev)
    [ "$2" = net ]
    list DPDK-compatible yes
    list kernel no
    ;;
-b)
    wanted=$2
    shift 2
    for address in "$@"; do
        [ ! -e "$DEVICES/$address/driver" ] || echo "$address" >"$DEVICES/$address/driver/unbind"
        echo "$wanted" >"$DEVICES/$address/driver_override"
        echo "$address" >/sys/bus/pci/drivers_probe
        [ "$(driver "$address")" = "$wanted" ]
    done
    ;;
*)
    echo "this stand-in knows no $1" >&2
    exit 1
    ;;
esac
