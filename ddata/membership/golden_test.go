package membership

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/golden"
)

// TestGolden plays the scripts in testdata. What follows a command is what the nodes then did,
// heartbeats and grants left out. Commands:
//
//	found N                      N processes at a, b … found a cluster, quietly; ten seconds pass
//	start A [expect N] [min N]   a process at address A; its seeds are the first N addresses
//	role R                       processes started from now on have that role
//	stuck, loose                 no view is settled any more; all are again
//	run D                        time passes
//	crash A, leave A, down A B   kill -9; Leave; Down of B's process said at A
//	offer A S                    the node at A offers the service S
//	close A                      the whole cluster is to shut down, said at A
//	cut A B, heal                no messages between A and B; all connected again
//	manual                       unreachable members are dropped by an operator only
//	voters N                     only the N oldest vote
//	singleton D                  a Singleton runs beside each node; what it starts takes D to stop
//	lease, take                  LeaseMajority decides; its lease is taken away from the holder
//	last A                       A dies when the arbiter has next decided through it, before it can say so
//	show                         what each living node thinks
func TestGolden(t *testing.T) {
	golden.Run(t, "testdata/*.script", func(t *testing.T,
		out *bytes.Buffer) golden.Player {
		return newStory(t, out).command
	})
}

// story is one script in a world whose uids read like the addresses: a1, a2 for the incarnations at
// a.
type story struct {
	w      *world
	out    *bytes.Buffer
	starts map[string]int
	said   map[string]string // the last probe of each node, so that repetitions are left out
	cuts   map[[2]string]bool
	lone   *lone // nil without singleton
}

func newStory(t *testing.T, out *bytes.Buffer) *story {
	base := LAN()
	base.Formats = format.Range{Min: format.Initial, Max: format.Initial} // no story is about a level
	g := &story{
		w: newWorld(t, 1, base), out: out, starts: make(map[string]int), said: make(map[string]string),
		cuts: make(map[[2]string]bool),
	}
	g.w.even = true
	g.w.handOff = 500 * time.Millisecond
	g.w.watch = g.watch
	g.w.cut = func(a, b *node) bool { return g.cuts[[2]string{a.addr, b.addr}] }
	t.Cleanup(g.w.verdict)
	return g
}

func (g *story) command(args []string) error {
	switch args[0] {
	case "start":
		g.start(args[1], args[2:])
	case "found":
		n, _ := strconv.Atoi(args[1])
		g.w.watch = nil
		for _, a := range addrs(n) {
			g.start(a, []string{"expect", args[1]})
		}
		g.w.run(10 * time.Second)
		g.w.watch = g.watch
	case "run":
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		g.w.run(d)
	case "crash":
		g.w.livingAt(args[1]).crash()
	case "leave":
		g.w.livingAt(args[1]).step(Leave{})
	case "offer":
		g.w.livingAt(args[1]).offer(view.Service{Name: args[2]})
	case "close":
		g.w.livingAt(args[1]).step(CloseCluster{})
	case "down":
		g.w.livingAt(args[1]).step(Down{g.w.livingAt(args[2]).uid})
	case "connections":
		g.w.dials = true
		g.w.base.Formats = format.Build()
	case "cut":
		g.cuts[[2]string{args[1], args[2]}], g.cuts[[2]string{args[2], args[1]}] = true, true
	case "heal":
		clear(g.cuts)
	case "role":
		g.w.base.Roles = args[1:]
	case "stuck", "loose":
		g.w.stuck = args[0] == "stuck"
	case "manual":
		g.w.base.Strategy = downing.Manual{}
	case "voters":
		n, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		g.w.base.VotersMax = n
	case "singleton":
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		g.lone = g.w.playLone(d, false)
		g.lone.watch = g.watchLone
		for _, n := range g.w.living() {
			fmt.Fprintf(g.out, "%v %v\n", n.uid, g.lone.part(n).s.State())
		}
	case "lease":
		g.w.base.Strategy = downing.LeaseMajority{}
	case "take":
		g.w.arbiterStore.take(g.w)
	case "last":
		g.w.arbiterStore.saved = func(n *node, r arbitration.Record) {
			if n.addr == args[1] && r.View != nil {
				n.crash()
			}
		}
	case "show":
		for _, n := range g.w.living() {
			fmt.Fprintf(g.out, "%v\n", n.m)
			if g.lone != nil {
				fmt.Fprintf(g.out, "    singleton %v\n", g.lone.part(n).s.State())
			}
		}
	default:
		return errors.New("unknown command")
	}
	return nil
}

func (g *story) start(addr string, options []string) {
	g.w.base.BootstrapExpect, g.w.base.MinMembers = 0, 0
	for i := 0; i+1 < len(options); i += 2 {
		n, err := strconv.Atoi(options[i+1])
		if err != nil {
			g.w.t.Fatal(err)
		}
		switch options[i] {
		case "expect":
			g.w.base.BootstrapExpect = n
			g.w.base.Seeds = addrs(n)
		case "min":
			g.w.base.MinMembers = n
		}
	}
	g.starts[addr]++
	uid, err := strconv.ParseUint(addr+strconv.Itoa(g.starts[addr]), 16, 64)
	if err != nil {
		g.w.t.Fatal(err)
	}
	g.w.nextUID = func() view.UID { return view.UID(uid) }
	g.w.start(addr, nil)
}

// watch prints what a step did.
func (g *story) watch(n *node, in Input, fx *Effects) {
	shown := *fx
	shown.Send = nil
	for _, e := range fx.Send {
		switch e.Msg.(type) {
		case message.Heartbeat, message.Grant:
			continue
		case bootstrap.Probe:
			key := n.uid.String() + e.Addr
			if g.said[key] == e.Msg.String() {
				continue
			}
			g.said[key] = e.Msg.String()
		}
		shown.Send = append(shown.Send, e)
	}
	text := strings.TrimRight(shown.String(), "\n")
	if text == "" {
		return
	}
	cause := in.String()
	if len(cause) > 100 {
		cause = cause[:100] + "…"
	}
	fmt.Fprintf(g.out, "%v %v: %s\n    %s\n",
		g.w.now.Round(time.Millisecond), n.uid, cause, strings.ReplaceAll(text, "\n", "\n    "))
}

// watchLone prints what a step of a Singleton did.
func (g *story) watchLone(n *node, in singleton.Input, fx *singleton.Effects) {
	var did []string
	for _, e := range fx.Send {
		did = append(did, fmt.Sprintf("send to %v: %v", e.To, e.Word))
	}
	if fx.Start {
		did = append(did, fmt.Sprintf("start, with token %v", fx.Token))
	}
	if fx.Stop {
		did = append(did, "stop")
	}
	if fx.State != nil {
		did = append(did, "singleton "+fx.State.String())
	}
	if len(did) > 0 {
		fmt.Fprintf(g.out, "%v %v: singleton: %v\n    %s\n",
			g.w.now.Round(time.Millisecond), n.uid, in, strings.Join(did, "\n    "))
	}
}
