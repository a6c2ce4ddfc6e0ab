// The scripts with which the shells complete command lines of this program. They only ask: what fits is
// decided by `Completion`. Each asks the program that stands in the command line, wherever that is.

/// The shells with completions.
enum ShellScript: String, CaseIterable {
    case bash, zsh, fish

    var text: String {
        switch self {
        case .bash: Self.bashText
        case .zsh: Self.zshText
        case .fish: Self.fishText
        }
    }

    private static let bashText = #"""
        # Completions of plugboard for bash, written by: plugboard completions bash
        _plugboard() {
            local program=${COMP_WORDS[0]/#\~\//$HOME/} line kind=
            COMPREPLY=()
            while IFS= read -r line; do
                if [[ -z $kind ]]; then kind=$line; else COMPREPLY+=("$line"); fi
            done < <("$program" complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
            if [[ $kind == files ]]; then compopt -o default 2>/dev/null; fi
        }
        complete -F _plugboard plugboard

        """#

    private static let zshText = #"""
        #compdef plugboard
        # Completions of plugboard for zsh, written by: plugboard completions zsh
        _plugboard() {
            local program=${words[1]/#\~\//$HOME/} line kind
            local -a before lines values shown
            (( CURRENT > 2 )) && before=("${(@Q)words[2,CURRENT-1]}")
            lines=("${(@f)$("$program" complete zsh "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}")
            kind=$lines[1]
            if [[ $kind == files ]]; then
                [[ $PREFIX == --*=* ]] && compset -P '*='
                _files
                return
            fi
            for line in "${(@)lines[2,-1]}"; do
                values+=("${line%%$'\t'*}")
                shown+=("${line/$'\t'/  -- }")
            done
            (( $#values )) || return 1
            if [[ $lines[2] == *$'\t'* ]]; then
                compadd -l -d shown -a values
            else
                compadd -a values
            fi
        }
        if [[ $funcstack[1] == _plugboard ]]; then
            _plugboard "$@"
        else
            compdef _plugboard plugboard
        fi

        """#

    private static let fishText = #"""
        # Completions of plugboard for fish, written by: plugboard completions fish
        function __plugboard_complete
            set -l words (commandline -opc)
            set -l token (commandline -ct)
            # A word whose quote is still open can't be unescaped as a whole.
            set token (string unescape -- $token; or string replace -r '^[\'"]' '' -- $token)
            set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
            set -e words[1]
            set -l lines ($program complete fish $words "$token" 2>/dev/null)
            if test "$lines[1]" = files
                set -l option (string match -r -- '^--[^=]*=' "$token")
                set -l path (string replace -r -- '^--[^=]*=' '' "$token")
                for file in (__fish_complete_path "$path")
                    echo "$option$file"
                end
            else
                printf '%s\n' $lines[2..-1]
            end
        end
        complete -c plugboard -f -a '(__plugboard_complete)'

        """#
}
