// Command coterie shows a cluster to its operator and steers it, and looks after the directories of
// nodes that are stopped.
//
//	coterie status [-alarms D]            the cluster in a few lines, and what is not well
//	coterie members                       the members, by age
//	coterie roles                         the replicas of each role: keys, clocks, lag
//	coterie types                         the entity types, all nodes together
//	coterie times                         what took how long in the last minute, and what waits for journals
//	coterie shards TYPE                   where the shards of a type are
//	coterie where TYPE ID                 where an entity is, why it was passivated, what waits
//	coterie events [-limit N]             the latest events of all nodes
//	coterie watch [-every D]              events as they come, until it is interrupted
//
//	coterie down NODE                     NODE is gone for good: go on without it
//	coterie leave NODE                    NODE leaves, and ends
//	coterie drain [-wait] NODE [TYPE]     NODE hands over the shards of TYPE, or of all, and stays a member
//	coterie prepare-shutdown              the whole cluster is about to be stopped
//	coterie rebalance TYPE                look at the balance of shards now
//	coterie move -to NODE TYPE SHARD…     shards shall live on NODE (types with allocation.External)
//	coterie stop-shards TYPE SHARD…       shards stop, until a message asks for them
//	coterie passivate TYPE ID             an entity ends its incarnation
//	coterie limit [-node NODE] TYPE N     N entities of TYPE may be active on NODE
//
//	coterie data inspect|verify|compact|remove … DIR
//	                                      the directory of a node that is not running: coterie data help
//	coterie doctor [FLAG…] [MANIFEST…]    what will go wrong with manifests of Kubernetes, and with this machine
//	coterie completion bash|zsh|fish      a script that completes commands and flags
//	coterie version                       which build this is, and which formats it knows
//	coterie help [COMMAND]                this text, or the flags of a command
//
// The commands of the first two groups ask the console of a running node (package console):
//
//	-url URL            of the console; default: the variable COTERIE_URL, else http://127.0.0.1:8080/coterie/
//	-token-file FILE    with the token; default: the variable COTERIE_TOKEN, else none is sent
//	-ca FILE            with the certificates, in PEM, that the console's may be signed by; default: those of the system
//	-timeout D          for the whole command; for each question of watch and drain -wait; default: 20s
//	-json               for programs: one JSON value, of package console/api; watch writes one event a line
//
// The doctor judges what is named: manifests, or of this machine a directory of a node, an address to listen at,
// certificates, a name of DNS. Of the machine it says nothing if none of that is named. A flag that has nothing to act
// on is a mistake. The flags are those of coterie help doctor:
//
//	coterie doctor -leave 25s -drain 5s -founders 2 manifests/shop.yaml manifests/statefulset.yaml
//	coterie doctor -dir /data/node -tls /tls -dns shop-nodes.shop.svc.cluster.local. -service coterie
//
// A node is named by its uid, the eight digits of it that logs show, or its address. What ends or stops
// something asks first; -yes goes on without, and is required where there is no terminal to ask on.
//
// Exit codes:
//
//	0  done
//	1  it failed, and the error says why; doctor: something will not work
//	2  a mistake in the arguments
//	3  done in part: some nodes gave no answer, and are named
//	4  the console refuses: the token is missing, wrong, or may only look
//	5  status: all nodes answered, and not all are ready
//	6  status -alarms D: all are ready, and a node has had an alarm within D
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/coterie-go/coterie/ddata/console/client"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitPartial = 3
	exitRefused = 4
	exitUnready = 5
	exitAlarms  = 6
)

var (
	// errUsage is a mistake in the arguments.
	errUsage = errors.New("usage")
	// errPartial: nodes gave no answer. They were named.
	errPartial = errors.New("not all nodes have answered")
	// errUnready: nodes are not ready. They were named.
	errUnready = errors.New("not all nodes are ready")
	// errAlarms: a node has had an alarm lately.
	errAlarms = errors.New("there were alarms")
)

// stdio is what the command has of the world around it: its streams and variables.
type stdio struct {
	in       io.Reader
	out      io.Writer
	errs     io.Writer
	getenv   func(string) string
	terminal bool // a person reads errs and answers on in
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], stdio{
		in: os.Stdin, out: os.Stdout, errs: os.Stderr, getenv: os.Getenv,
		terminal: isTerminal(os.Stderr) && isTerminal(os.Stdin),
	})
	cancel()
	os.Exit(code)
}

func isTerminal(f *os.File) bool {
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}

// run carries out one command, and returns the exit code.
func run(ctx context.Context, args []string, c stdio) int {
	err := dispatch(ctx, args, c)
	var answered *client.Error
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintf(c.errs, "coterie: %v; coterie help lists the commands\n", err)
		return exitUsage
	}
	fmt.Fprintln(c.errs, "coterie:", err)
	switch {
	case errors.Is(err, errPartial):
		return exitPartial
	case errors.Is(err, errUnready):
		return exitUnready
	case errors.Is(err, errAlarms):
		return exitAlarms
	case errors.As(err, &answered) && answered.Refused():
		return exitRefused
	}
	return exitFailed
}

// dispatch finds the command, and has it parse its flags.
func dispatch(ctx context.Context, args []string, c stdio) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: say what to do", errUsage)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return help(args[1:], c.out)
	}
	cmd, ok := find(args[0])
	if !ok {
		return fmt.Errorf("%w: %q is unknown", errUsage, args[0])
	}
	flags := flag.NewFlagSet(cmd.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	do := cmd.prepare(flags)
	words, err := parse(flags, args[1:], cmd.name == "data")
	switch n := len(words); {
	case errors.Is(err, flag.ErrHelp):
		return help(args[:1], c.out)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", errUsage, cmd.name, err)
	case n < cmd.least || cmd.most >= 0 && n > cmd.most:
		return fmt.Errorf("%w: coterie %s %s", errUsage, cmd.name, cmd.args)
	case slices.Contains(words, ""): // of a variable that is not set
		return fmt.Errorf("%w: %s: a word is empty", errUsage, cmd.name)
	}
	return do(ctx, c, words)
}

// parse parses flags wherever they stand among the words. Behind the first word it leaves all as it
// is if that has flags of its own.
func parse(flags *flag.FlagSet, args []string, ownFlags bool) (words []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if len(rest) == 0 || ownFlags {
			return append(words, rest...), nil
		}
		if end := len(args) - len(rest); end > 0 && args[end-1] == "--" {
			return append(words, rest...), nil
		}
		words, args = append(words, rest[0]), rest[1:]
	}
}
