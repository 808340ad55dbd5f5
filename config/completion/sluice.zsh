#compdef sluice
# SPDX-License-Identifier: BSD-3-Clause
# Completion of sluice(1) in zsh. The program itself says what may follow.
local -a candidates
local word text
while IFS=$'\t' read -r word text; do
    candidates+=("${word//:/\\:}:$text")
done < <("${words[1]}" complete "${(@)words[2,CURRENT]}" 2>/dev/null)
if ((${#candidates})); then
    _describe -V sluice candidates
else
    _files
fi
