package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

func completionCommand(*flag.FlagSet) task {
	return func(_ context.Context, c stdio, args []string) error {
		write, ok := map[string]func(io.Writer){"bash": bash, "zsh": zsh, "fish": fish}[args[0]]
		if !ok {
			return fmt.Errorf("%w: completion: %q is none of bash, zsh, fish", errUsage, args[0])
		}
		write(c.out)
		return nil
	}
}

// flagNames are the flags of a command, with a dash.
func flagNames(c command) (names []string) {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.prepare(flags)
	flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
	return names
}

// second are the words that may come second after a command.
func second(c command) []string {
	switch c.name {
	case "data":
		return dataVerbs()
	case "completion":
		return []string{"bash", "zsh", "fish"}
	}
	return nil
}

func names() string {
	var all []string
	for _, c := range commands() {
		all = append(all, c.name)
	}
	return strings.Join(append(all, "help"), " ")
}

func bash(out io.Writer) {
	fmt.Fprintln(out, `# bash completion of coterie: source it, or put it where your bash-completion looks.
_coterie() {
  local word=${COMP_WORDS[COMP_CWORD]} words=""
  if [ "$COMP_CWORD" = 1 ]; then`)
	fmt.Fprintf(out, "    words=%q\n  else\n    case ${COMP_WORDS[1]} in\n", names())
	fmt.Fprintf(out, "      help) words=%q ;;\n", names())
	for _, c := range commands() {
		fmt.Fprintf(out, "      %s) words=%q ;;\n", c.name, strings.Join(append(second(c), flagNames(c)...), " "))
	}
	fmt.Fprintln(out, `    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}
complete -F _coterie coterie`)
}

func zsh(out io.Writer) {
	fmt.Fprintln(out, `#compdef coterie
# zsh completion of coterie: put it into a file _coterie in a folder of $fpath.
_coterie() {
  local -a commands
  commands=(`)
	for _, c := range commands() {
		fmt.Fprintf(out, "    '%s:%s'\n", c.name, strings.ReplaceAll(c.text, ":", `\:`))
	}
	fmt.Fprintln(out, `    'help:this text, or the flags of a command'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in`)
	for _, c := range commands() {
		fmt.Fprintf(out, "    %s) compadd -- %s ;;\n", c.name, strings.Join(append(second(c), flagNames(c)...), " "))
	}
	fmt.Fprintln(out, `  esac
  _files
}
_coterie "$@"`)
}

func fish(out io.Writer) {
	fmt.Fprintln(out, "# fish completion of coterie: put it into ~/.config/fish/completions/coterie.fish.")
	for _, c := range commands() {
		fmt.Fprintf(out, "complete -c coterie -n __fish_use_subcommand -a %s -d '%s'\n", c.name, c.text)
		for _, w := range second(c) {
			fmt.Fprintf(out, "complete -c coterie -n '__fish_seen_subcommand_from %s' -a %s\n", c.name, w)
		}
		for _, f := range flagNames(c) {
			fmt.Fprintf(out, "complete -c coterie -n '__fish_seen_subcommand_from %s' -o %s\n", c.name,
				strings.TrimPrefix(f, "-"))
		}
	}
}
