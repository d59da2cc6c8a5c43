# fish completion of lafka; made by: lafka completion fish
function __lafka
    set -l all 'WORDS'
    set -l found (printf '%s\n' $all (commandline -cp) | lafka completion words VERSION 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c lafka -f -n 'not string match -q "*=*" -- (commandline -ct)' -a '(__lafka)'
