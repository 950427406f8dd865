# shellcheck shell=bash
# Completion for bash: petstorectl itself prints what can follow. Loaded by the
# package bash-completion, or from ~/.bashrc.

_petstorectl() {
    local words candidate
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *' ' ]] && words+=('')
    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        if [[ $candidate == :files ]]; then
            compopt -o default
        else
            COMPREPLY+=("$candidate")
        fi
    done < <("$1" complete "${words[@]:1}" 2>/dev/null)
}
complete -F _petstorectl petstorectl
