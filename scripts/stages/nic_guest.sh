#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# /init of the guest that scripts/test-nic boots: binds its two NICs to a driver for userspace, runs
# a daemon on each, and sends a file from one to the other. Writes the results to the second serial
# port, in lines "KEY VALUE", of which the last is "end". nic_result.py judges them.
#
# If there is a folder /tutorial, runs that instead (test/system/tutorials/guest.py).
#
# Parameters on the kernel's command line: sluice.module, .mtu, .mb, .pages, .wait_s, .queues
# shellcheck shell=dash disable=SC2154
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ SLUICE_SOCKET=
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /tmp /run /etc /var /dev/shm /out
ln -s /run /var/run

# Stays open: a close waits for the port only so long, and what is not sent by then is lost.
exec 3>/dev/ttyS1

result() {
    echo "$*" >&3
}

finish() {
    result end
    sync
    sleep 0.3 # until the serial port has sent it
    reboot -f
}

fail() {
    result failed "$*"
    dmesg | tail -n 40
    finish
}

word() { # word KEY: prints its value on the kernel's command line
    sed -n "s/.*sluice\.$1=\([^ ]*\).*/\1/p" /proc/cmdline
}

# wait_for PID TEXT COMMAND...: waits until the output of the command has TEXT. Fails if the
# process ends, or if this takes too long.
wait_for() {
    local pid=$1 text=$2 i=0
    shift 2
    while [ $i -lt $((wait_s * 2)) ]; do
        "$@" 2>/dev/null | grep -q "$text" && return
        kill -0 "$pid" || return
        sleep 0.5
        i=$((i + 1))
    done
    return 1
}

# ---- the machine ------------------------------------------------------------------------------

# The modprobe of a distribution knows that vfio-pci needs vfio_iommu_type1. That of busybox does not.
modules_load() { # modules_load NAME...
    local m
    for m in "$@"; do
        modprobe "$m" || fail "the kernel refuses the module $m"
    done
}

nics() { # prints the folders of the NICs
    local dev
    for dev in /sys/bus/pci/devices/*; do
        case $(cat "$dev/class") in 0x0200*) echo "$dev" ;; esac
    done
}

nics_bind() {
    local dev address n=0
    for dev in $(nics); do
        address=${dev##*/}
        echo "$module" >"$dev/driver_override"
        echo "$address" >/sys/bus/pci/drivers_probe
        [ "$(basename "$(readlink "$dev/driver")")" = "$module" ] ||
            fail "$address cannot be bound to $module"
        eval "nic$n=$address"
        n=$((n + 1))
    done
    [ $n = 2 ] || fail "there are $n NICs, not 2"
}

# ---- the daemons ------------------------------------------------------------------------------

# lcores CPU: the EAL's lcores: control on CPU 0, and a worker for each queue on this one
lcores() {
    local text=0@0 i=1
    while [ $i -le "$queues" ]; do
        text=$text,$i@$1
        i=$((i + 1))
    done
    echo "$text"
}

# daemon_start NAME NIC ADDRESS CPU
daemon_start() {
    cat >"/etc/$1.conf" <<END
[daemon]
socket = /run/$1.sock
idle = sleep
control_interval = 5ms

[port $2]
address = $3/24
mtu = $mtu
queue_size = 512
silence = 60s
END
    sluiced --lcores "$(lcores "$4")" --in-memory -m 160 --no-telemetry --file-prefix "$1" -- \
        -c "/etc/$1.conf" >"/out/$1.log" 2>&1 &
    eval "pid_$1=$!"
}

daemon_ready() {
    local pid
    eval "pid=\$pid_$1"
    wait_for "$pid" '"link": *"up"' sluice show ports --json --socket "/run/$1.sock" ||
        { cat "/out/$1.log"; fail "the daemon on $1 has no link"; }
}

daemon_stop() {
    local pid
    eval "pid=\$pid_$1"
    kill -TERM "$pid"
    wait "$pid"
    result "exit_$1 $?"
    cat "/out/$1.log"
}

show() { # show NAME VIEW: adds it to the results as one line of JSON
    result "$2_$1 $(sluice show "$2" --json --socket "/run/$1.sock" | tr -d '\n')"
}

sum() {
    sha256sum "$1" | cut -d ' ' -f 1
}

# ---- the tutorial -----------------------------------------------------------------------------

# As a machine is on which nobody has prepared anything: the kernel's driver has the NICs.
tutorial() {
    local dev out
    modules_load vfio_iommu_type1
    for dev in $(nics); do
        modules_load "$(cat "$dev/modalias")"
    done
    mkdir /tutorial/files
    cd /tutorial/files || fail "no folder for the tutorial"
    timeout "$((wait_s * 2))" sh /tutorial/script
    result status $?
    result last "$(cat /tutorial/last)"
    for out in /tutorial/*.out; do
        result "$(basename "$out")" "$(base64 "$out" | tr -d '\n')"
    done
    finish
}

# ---- the transfer -----------------------------------------------------------------------------

module=$(word module) mtu=$(word mtu) mb=$(word mb) wait_s=$(word wait_s) queues=$(word queues)
result booted "$(cut -d ' ' -f 1 /proc/uptime)"
ip link set lo up
[ ! -d /tutorial ] || tutorial
if [ "$module" = vfio-pci ]; then
    modules_load vfio_iommu_type1 vfio-pci
else
    modules_load "$module"
fi
nics_bind
# Not on the kernel's command line: reserved that early, pages are zeroed one after another.
word pages >/proc/sys/vm/nr_hugepages
daemon_start a "$nic0" 192.0.2.1 1
daemon_start b "$nic1" 192.0.2.2 2
daemon_ready a
daemon_ready b
result ready "$(cut -d ' ' -f 1 /proc/uptime)"

dd if=/dev/urandom of=/tmp/file bs=1M count="$mb" 2>/dev/null
mkdir /out/b
sluice recv -v --once --json -o /out/b --socket /run/b.sock >/out/recv.json 2>/out/recv.log &
receiver=$!
wait_for $receiver "waiting on" cat /out/recv.log || fail "sluice recv does not listen: $(cat /out/recv.log)"
timeout -s INT "$wait_s" sluice send --json --socket /run/a.sock /tmp/file 192.0.2.2 >/out/send.json 2>/out/send.log
status=$?
result send "$status $(cat /out/send.json /out/send.log | tr '\n' ' ')"
[ $status = 0 ] || kill $receiver
wait $receiver
result recv "$? $(tr '\n' ' ' </out/recv.json)"
cat /out/recv.log /out/send.log
result sent_sha256 "$(sum /tmp/file)"
result received_sha256 "$(sum /out/b/file)"
show a ports
show b ports
show a conns
daemon_stop a
daemon_stop b
finish
