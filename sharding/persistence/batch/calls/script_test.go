package calls

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestScripts plays the golden scripts in testdata; see script.command for what they can say.
func TestScripts(t *testing.T) {
	golden.Run(t, "testdata/*.txt", func(t *testing.T, out *bytes.Buffer) golden.Player {
		return (&script{t: t, out: out, now: time.Unix(0, 0)}).command
	})
}

// script is one machine, whose calls return when the script says so.
type script struct {
	t     *testing.T
	out   *bytes.Buffer
	now   time.Time
	m     *Machine
	calls []*Call
	count int
}

var kindOf = map[string]Kind{
	"append": Append, "delete": Delete, "load": Load, "state": SaveState, "loadstate": LoadState,
	"save": SaveSnapshot, "deletesnapshots": DeleteSnapshots, "loadsnapshot": LoadSnapshot,
}

// command is one of
//
//	machine [SETTING=VALUE…]         see the table below; times in milliseconds; apart: a store per port
//	KIND SHARD.TOKEN ENTITY [BYTES]  something is asked for
//	flush
//	return N [unknown | hopeless | fenced | refuse INDEX | settle INDEX]   the N-th call under way returns
//	end SHARD.TOKEN
//	close
//	after DURATION
//	stats
func (s *script) command(words []string) error {
	switch words[0] {
	case "machine":
		return s.machine(words[1:])
	case "flush":
		s.step(Flush{})
	case "return":
		return s.returns(words[1:])
	case "end":
		s.step(End{hostingIn(words[1])})
	case "close":
		s.step(Close{})
	case "after":
		d, err := time.ParseDuration(words[1])
		s.now = s.now.Add(d)
		if at := s.m.Deadline(); !at.IsZero() && !at.After(s.now) {
			s.step(Tick{})
			s.step(Flush{})
		}
		return err
	case "stats":
		fmt.Fprintf(s.out, "%+v\n", s.m.Stats())
	default:
		k, ok := kindOf[words[0]]
		if !ok {
			return fmt.Errorf("no command %q", words[0])
		}
		s.count++
		o := &Op{Hosting: hostingIn(words[1]), Kind: k, Entity: protocol.EntityID(words[2]), Value: s.count, Events: 1}
		if len(words) > 3 {
			o.Bytes, _ = strconv.Atoi(words[3])
		}
		s.step(Submit{o})
	}
	return nil
}

func hostingIn(word string) Hosting {
	var shard, token uint64
	if _, err := fmt.Sscanf(word, "%d.%d", &shard, &token); err != nil {
		panic(err)
	}
	return Hosting{Shard: protocol.ShardID(shard), Token: singleton.FencingToken{Epoch: 1, Seq: token}}
}

func (s *script) machine(words []string) error {
	var cfg Settings
	stores := [3]int{}
	for _, w := range words {
		var name string
		var value int
		if _, err := fmt.Sscanf(w, "%s", &name); err != nil {
			return err
		}
		for _, f := range []struct {
			name string
			set  func()
		}{
			{"inflight", func() { cfg.InFlightMax = value }}, {"batch", func() { cfg.BatchMax = value }},
			{"bytes", func() { cfg.BytesMax = value }}, {"waiting", func() { cfg.WaitingMax = value }},
			{"waitingbytes", func() { cfg.WaitingBytes = value }},
			{"giveup", func() { cfg.GiveUpAfter = time.Duration(value) * time.Millisecond }},
			{"timeout", func() { cfg.CallTimeout = time.Duration(value) * time.Millisecond }},
			{"retryfirst", func() { cfg.RetryFirst = time.Duration(value) * time.Millisecond }},
			{"retrymost", func() { cfg.RetryMost = time.Duration(value) * time.Millisecond }},
			{"slow", func() { cfg.SlowAfter = time.Duration(value) * time.Millisecond }},
			{"linger", func() { cfg.Linger = time.Duration(value) * time.Millisecond }},
			{"apart", func() { stores = [3]int{0, 1, 2} }},
		} {
			if n, _ := fmt.Sscanf(w, f.name+"=%d", &value); n == 1 || w == f.name {
				f.set()
			}
		}
	}
	if err := cfg.Validate(); err != nil {
		return err
	}
	s.m = New(cfg, stores)
	return nil
}

func (s *script) returns(words []string) error {
	n, err := strconv.Atoi(words[0])
	if err != nil || n < 1 || n > len(s.calls) {
		return errors.New("no such call")
	}
	r := Returned{Call: s.calls[n-1]}
	s.calls = append(s.calls[:n-1:n-1], s.calls[n:]...)
	if len(words) > 1 {
		switch words[1] {
		case "unknown":
			r.Outcome, r.Err = Unknown, errors.New("no connection")
		case "hopeless":
			r.Outcome, r.Err = Hopeless, errors.New("damaged")
		case "fenced":
			r.Outcome, r.Err = Fenced, errors.New("later hosting")
		case "refuse", "settle":
			i, _ := strconv.Atoi(words[2])
			r.Settled = []Settled{{Index: i}}
			if words[1] == "refuse" {
				r.Settled[0].Err = errors.New("conflict")
			}
		}
	}
	s.step(r)
	s.step(Flush{})
	return nil
}

func (s *script) step(in Input) {
	fx := s.m.Step(s.now, in)
	s.m.checkInvariants()
	s.calls = append(s.calls, fx.Start...)
	for _, l := range fx.Strings() {
		fmt.Fprintln(s.out, l)
	}
}
