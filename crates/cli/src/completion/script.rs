//! What each shell is told: to ask this program.
//!
//! A script gives the words up to the cursor, the last of which is being typed, and gets a line for
//! each candidate: the word, a tab, what it is. Without candidates the shell offers files. No
//! space is put behind a word that ends with `=`: its value follows.

use crate::args::check::Shell;

/// The script for a shell.
pub(crate) const fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        Shell::Powershell => POWERSHELL,
        Shell::Elvish => ELVISH,
    }
}

// Bash breaks words at `=` and `:` and wants only what is behind the last of them; the program is
// told where, and gives only that.
const BASH: &str = r#"_switchboard() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        printf -v line '%q' "${line%%$'\t'*}"
        COMPREPLY+=("$line")
    done < <(switchboard __complete --line "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -gt 0 && "${COMPREPLY[0]}" == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o default -F _switchboard switchboard
"#;

const ZSH: &str = r#"#compdef switchboard
_switchboard() {
    local line value about
    local -a plain plain_shown open open_shown
    while IFS= read -r line; do
        value=${line%%$'\t'*}
        about=${line#*$'\t'}
        if [[ $value == *= ]]; then
            open+=("$value")
            open_shown+=("$value${about:+  -- $about}")
        else
            plain+=("$value")
            plain_shown+=("$value${about:+  -- $about}")
        fi
    done < <(switchboard __complete -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)
    if (( $#plain + $#open == 0 )); then
        _files
        return
    fi
    (( $#open )) && compadd -S '' -l -d open_shown -a open
    (( $#plain )) && compadd -l -d plain_shown -a plain
    return 0
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _switchboard "$@"
else
    compdef _switchboard switchboard
fi
"#;

const FISH: &str = r#"function __switchboard_complete
    set -l found (switchboard __complete -- (commandline -opc) (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c switchboard -f -k -a '(__switchboard_complete)'
"#;

const POWERSHELL: &str = r#"Register-ArgumentCompleter -Native -CommandName switchboard -ScriptBlock {
    param($word, $ast, $position)
    $words = @($ast.CommandElements | Where-Object { $_.Extent.StartOffset -lt $position } | ForEach-Object { $_.ToString() })
    if ($word -eq '') { $words += '""' }
    switchboard __complete --line ($words -join ' ') 2>$null | ForEach-Object {
        $value, $about = $_ -split "`t", 2
        if (-not $about) { $about = $value }
        $text = if ($value -match '[^\w=./:@-]') { "'" + $value.Replace("'", "''") + "'" } else { $value }
        [System.Management.Automation.CompletionResult]::new($text, $value, 'ParameterValue', $about)
    }
}
"#;

const ELVISH: &str = r#"use str
set edit:completion:arg-completer[switchboard] = {|@words|
    switchboard __complete -- $@words 2>/dev/null | from-lines | each {|line|
        var value about = (str:split &max=2 "\t" $line)
        if (str:has-suffix $value '=') {
            edit:complex-candidate $value &code-suffix='' &display=$value'  '$about
        } else {
            edit:complex-candidate $value &code-suffix=' ' &display=$value'  '$about
        }
    }
}
"#;
