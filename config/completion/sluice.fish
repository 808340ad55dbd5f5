# SPDX-License-Identifier: BSD-3-Clause
# Completion of sluice(1) in fish. The program itself says what may follow.
function __sluice_candidates
    set -l words (commandline -opc) (commandline -ct)
    $words[1] complete $words[2..-1] 2>/dev/null
end
function __sluice_has_candidates
    test -n "$(__sluice_candidates)"
end
complete -c sluice -n __sluice_has_candidates -f -a '(__sluice_candidates)'
