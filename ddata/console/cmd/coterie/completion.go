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
func flagNames(c command) []string {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.prepare(flags)
	return namesOf(flags)
}

func namesOf(flags *flag.FlagSet) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
	return names
}

// word is one that may come second after a command, with the flags that may follow it.
type word struct {
	text  string
	flags []string
}

// second are the words that may come second after a command.
func second(c command) (all []word) {
	switch c.name {
	case "data":
		for _, verb := range dataVerbs() {
			w := word{text: verb}
			if prepare, ok := verbs[verb]; ok {
				flags, json := flag.NewFlagSet(verb, flag.ContinueOnError), false
				addJSON(flags, &json)
				prepare(flags)
				w.flags = namesOf(flags)
			}
			all = append(all, w)
		}
	case "completion":
		return []word{{text: "bash"}, {text: "zsh"}, {text: "fish"}}
	}
	return all
}

// follow are the words that may follow a command, those of its second word aside.
func follow(c command) string {
	var all []string
	for _, w := range second(c) {
		all = append(all, w.text)
	}
	return strings.Join(append(all, flagNames(c)...), " ")
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
	fmt.Fprintf(out, "    words=%q\n  else\n", names())
	fmt.Fprintln(out, `    local second=""
    [ "$COMP_CWORD" -gt 2 ] && second=${COMP_WORDS[2]}
    case ${COMP_WORDS[1]}:$second in`)
	fmt.Fprintf(out, "      help:*) words=%q ;;\n", names())
	for _, c := range commands() {
		for _, w := range second(c) {
			fmt.Fprintf(out, "      %s:%s) words=%q ;;\n", c.name, w.text, strings.Join(w.flags, " "))
		}
		fmt.Fprintf(out, "      %s:*) words=%q ;;\n", c.name, follow(c))
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
  local second=""
  (( CURRENT > 3 )) && second=$words[3]
  case $words[2]:$second in`)
	fmt.Fprintf(out, "    help:*) compadd -- %s ;;\n", names())
	for _, c := range commands() {
		for _, w := range second(c) {
			fmt.Fprintf(out, "    %s:%s) compadd -- %s ;;\n", c.name, w.text, strings.Join(w.flags, " "))
		}
		fmt.Fprintf(out, "    %s:*) compadd -- %s ;;\n", c.name, follow(c))
	}
	fmt.Fprintln(out, `  esac
  _files
}
_coterie "$@"`)
}

func fish(out io.Writer) {
	fmt.Fprintln(out, "# fish completion of coterie: put it into ~/.config/fish/completions/coterie.fish.")
	fmt.Fprintf(out, "complete -c coterie -n '__fish_seen_subcommand_from help' -a %q\n", names())
	fmt.Fprintln(out, "complete -c coterie -n __fish_use_subcommand -a help -d 'this text, or the flags of a command'")
	for _, c := range commands() {
		fmt.Fprintf(out, "complete -c coterie -n __fish_use_subcommand -a %s -d '%s'\n", c.name, c.text)
		seen := "__fish_seen_subcommand_from " + c.name
		flags := func(condition string, names []string) {
			for _, f := range names {
				fmt.Fprintf(out, "complete -c coterie -n '%s' -o %s\n", condition, strings.TrimPrefix(f, "-"))
			}
		}
		var texts []string
		for _, w := range second(c) {
			texts = append(texts, w.text)
			flags(seen+"; and __fish_seen_subcommand_from "+w.text, w.flags)
		}
		if len(texts) > 0 {
			seen += "; and not __fish_seen_subcommand_from " + strings.Join(texts, " ")
			fmt.Fprintf(out, "complete -c coterie -n '%s' -a %q\n", seen, strings.Join(texts, " "))
		}
		flags(seen, flagNames(c))
	}
}
