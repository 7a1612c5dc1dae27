package ddata_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/ddata/transport"
)

// giveUp starts nodes of which none can come up, cancels once each has said what it was asked to,
// and returns their errors.
func giveUp(t *testing.T, says []string, configs ...ddata.Config) []error {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	errs, ended := make([]error, len(configs)), make(chan struct{})
	heard := make(chan int, 1000)
	for i, c := range configs {
		note := func(text string) {
			if strings.Contains(text, says[i]) {
				select {
				case heard <- i:
				default:
				}
			}
		}
		c.OnEvent = func(e events.Event) {
			switch e := e.(type) {
			case events.Waiting:
				note(e.Reason)
			case events.NodeEnded:
				note(e.Err.Error())
			case events.ViewInstalled:
				note(e.View.String())
			}
		}
		go func() {
			_, errs[i] = ddata.Start(ctx, c)
			ended <- struct{}{}
		}()
	}
	for got := map[int]bool{}; len(got) < len(configs); {
		select {
		case i := <-heard:
			got[i] = true
		case <-ctx.Done():
			t.Errorf("only %v said what was expected", got)
			for i := range configs {
				got[i] = true
			}
		}
	}
	cancel()
	for range configs {
		<-ended
	}
	return errs
}

// All sides name a founder whose advertised address no node can dial, and no node starts again and
// again because of it.
func TestStartSaysWhoCannotBeDialled(t *testing.T) {
	addrs := freeAddrs(t, 3)
	var configs []ddata.Config
	for _, a := range addrs {
		configs = append(configs, config(a, addrs, 3))
	}
	_, port, err := net.SplitHostPort(addrs[2])
	if err != nil {
		t.Fatal(err)
	}
	dead := net.JoinHostPort("127.0.2.33", port)
	configs[2].Advertise = dead
	says := []string{
		dead + " does not hear " + addrs[0], dead + " does not hear " + addrs[1],
		"not reached at the address that it advertises, " + dead,
	}
	for i, err := range giveUp(t, says, configs...) {
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), says[i]) {
			t.Errorf("node %d ended with %v, not with %q", i, err, says[i])
		}
	}
}

// A member that is not Up says which gate it waits for, with the numbers.
func TestStartSaysWhichMembersAreMissing(t *testing.T) {
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.MinMembers = 3
	c.PerRole = map[string]roles.Config{"backend": {MinMembers: 2}, "bakcend": {MinMembers: 1}}
	err := giveUp(t, []string{"founded"}, c)[0]
	for _, want := range []string{
		"1 of 3 members are there (MinMembers)", `1 of 2 members of role "backend" are there`,
		`no member has the role "bakcend", of which 1`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// A node that heard of a cluster that then fell silent starts again, under another uid, and its
// error still names why.
func TestStartTriesAgainAndRemembersWhy(t *testing.T) {
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	ghost, err := transport.Listen(ctx, transport.Config{Cluster: "test", Self: 7, Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer ghost.Close()
	c := config(freeAddrs(t, 1)[0], []string{ghost.Addr()}, 0)
	c.Timing.BootstrapTimeout = time.Second
	here := message.Append(nil, bootstrap.JoinReply{Cluster: 5, Epoch: 1})
	var first atomic.Uint64
	channel := transport.ChannelOf("membership")
	ghost.Handle(channel, transport.HandlerFunc(func(from transport.NodeID, _ []byte) {
		switch {
		case first.CompareAndSwap(0, uint64(from)): // it hears of a cluster once
			_ = ghost.SendAddr(c.Bind, channel, here)
		case first.Load() != uint64(from):
			cancel()
		}
	}))
	want := "the attempt before broke off: cluster " + view.ClusterID(5).String() +
		" was heard of, and nothing more of it for 1s"
	if _, err := ddata.Start(ctx, c); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) {
		t.Errorf("it ended with %v, want %q", err, want)
	}
}

// A node that finds no node at its seeds is told of the attempt to reach them.
func TestStartSaysWhichAttemptFailed(t *testing.T) {
	addrs := freeAddrs(t, 2)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	c := config(addrs[0], addrs[1:], 0)
	c.OnEvent = eventstest.On(func(e events.ConnectionFault) {
		if e.Fault.Kind == transport.FaultDial {
			cancel()
		}
	})
	if _, err := ddata.Start(ctx, c); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), addrs[1]+": ") ||
		!strings.Contains(err.Error(), "refused") {
		t.Errorf("ended with %v", err)
	}
}

// A joiner that a running cluster cannot dial back hears nothing from it, and is told where it
// looks for it.
func TestStartSaysWhereAJoinerIsDialled(t *testing.T) {
	addrs := freeAddrs(t, 2)
	n, err := ddata.Start(testContext(t), config(addrs[0], addrs[:1], 1))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	_, port, err := net.SplitHostPort(addrs[1])
	if err != nil {
		t.Fatal(err)
	}
	c := config(addrs[1], addrs[:1], 0)
	c.Advertise = net.JoinHostPort("127.0.2.33", port)
	want := "dial this node at " + c.Advertise
	if err := giveUp(t, []string{want}, c)[0]; !strings.Contains(err.Error(), want) {
		t.Errorf("ended with %v", err)
	}
}
