#compdef lafka
# zsh completion of lafka; made by: lafka completion zsh
_lafka() {
  local line="${(j: :)words[1,CURRENT-1]} $PREFIX" known='WORDS'
  local asked="$(print -rl -- "$known" "$line" | $words[1] completion words VERSION 2> /dev/null)"
  local -a found=("${(@f)asked}")
  found=(${found:#})
  (( $#found )) || { compset -P '*='; _files; return }
  local -a names=("${(@)found%%$'\t'*}") told=("${(@)found/$'\t'/  }") behind=()
  [[ $names[1] == *= ]] && behind=(-S '')
  compadd "${behind[@]}" -l -d told -- $names
}
if [[ $funcstack[1] == _lafka ]]; then _lafka "$@"; else compdef _lafka lafka; fi
