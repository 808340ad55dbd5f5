# SPDX-License-Identifier: BSD-3-Clause
# Completion of sluice(1) in bash. The program itself says what may follow.
_sluice() {
    local candidate
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        COMPREPLY+=("$candidate")
    done < <("${COMP_WORDS[0]}" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
# Where there is no candidate, a file is meant.
complete -o default -F _sluice sluice
