# bash completion of lafka; made by: lafka completion bash
_lafka() {
  local line="${COMP_LINE:0:COMP_POINT}" one words='WORDS'
  local word="${line##*[[:space:]]}"
  local before="${word%"${word##*[$COMP_WORDBREAKS]}"}"  # bash replaces what stands behind it
  COMPREPLY=()
  while IFS=$'\t' read -r one _; do
    [[ $word == *[\'\"]* ]] || printf -v one %q "$one"
    COMPREPLY+=("${one#"$before"}")
  done < <(printf '%s\n' "$words" "$line" | "$1" completion words VERSION 2> /dev/null)
  [[ $COMPREPLY != *= ]] || compopt -o nospace 2> /dev/null
}
complete -o default -F _lafka lafka
