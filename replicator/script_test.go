package replicator

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
)

// TestScripts plays the golden scripts in testdata. Commands:
//
//	start ID [disk=ID]            a process; disk: with the rows of a crashed one
//	frame N                       FrameMax of the nodes that start from now on
//	view EPOCH ID… [+ID…] [founded] [disks=N,N]   every running node installs it; + marks learners
//	view@ID …                     one node installs it
//	add|remove ID KEY ELEM LEVEL  an update
//	fill ID KEY N                 an update that adds N elements
//	count ID KEY N LEVEL          an update of a counter
//	delete|forever|get|subscribe ID KEY [LEVEL]
//	deliver [N]                   the next N packets arrive; all that are on their way
//	lose N                        the next N packets are lost
//	persist|fail ID               the disk answers the oldest batch
//	quiet                         deliver and persist until nothing is left
//	wait DURATION                 time passes; deadlines are met, everything arrives
//	cut|mend ID ID; crash ID; reach|unreach ID ID
//	show ID                       the state
//	stats ID                      the counters of repairs
//	hush COMMAND                  without a word
func TestScripts(t *testing.T) {
	golden.Run(t, "testdata/*.txt", func(t *testing.T, out *bytes.Buffer) golden.Player {
		s := &script{world: newWorld(t, 1, scripted)}
		s.log = func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
		return s.run
	})
}

var scripted = settings.Config{
	DurableKeys: []string{"d/*"}, Expire: map[string]time.Duration{"x/*": time.Minute}, FrameMax: 512, BacklogMax: 512,
	GossipInterval: 10 * time.Second,
}

type script struct{ *world }

func (s *script) run(w []string) error {
	if w[0] == "hush" {
		defer func(log func(string, ...any)) { s.log = log }(s.log)
		s.log = func(string, ...any) {}
		w = w[1:]
	}
	switch cmd, _, _ := strings.Cut(w[0], "@"); cmd {
	case "start":
		var disk *rows
		diskID := uint64(s.id(w[1]))
		for _, opt := range w[2:] {
			old := s.id(strings.TrimPrefix(opt, "disk="))
			for _, n := range s.nodes {
				if n.id == old {
					disk, diskID = n.disk, n.diskID
				}
			}
		}
		s.start(s.id(w[1]), disk, diskID)
	case "view":
		return s.view(w)
	case "fill":
		return s.fill(w)
	case "frame":
		s.cfg.FrameMax, _ = strconv.Atoi(w[1])
	case "add", "remove", "count", "delete", "forever", "get", "subscribe":
		return s.operate(w)
	case "deliver", "lose", "quiet", "wait":
		return s.pass(w)
	case "persist", "fail":
		n := s.node(s.id(w[1]))
		n.disk.bad = cmd == "fail"
		n.persist()
		n.disk.bad = false
	case "cut":
		s.sever(s.id(w[1]), s.id(w[2]))
	case "mend":
		s.mend(s.id(w[1]), s.id(w[2]))
	case "crash":
		s.node(s.id(w[1])).crash()
	case "reach", "unreach":
		s.node(s.id(w[1])).step(Reachable{s.id(w[2]), cmd == "reach"})
	case "stats":
		st := s.node(s.id(w[1])).m.Stats()
		s.log("repairs %d, donors replaced %d, donated %d, helped %d",
			st.Repairs, st.DonorsReplaced, st.Donated, st.Helped)
	case "show":
		for line := range strings.Lines(s.node(s.id(w[1])).m.String()) {
			s.log("%s", strings.TrimSuffix(line, "\n"))
		}
	default:
		return errors.New("unknown command")
	}
	return nil
}

func (s *script) id(word string) crdt.Origin {
	n, _ := strconv.ParseUint(word, 16, 64)
	return crdt.Origin(n)
}

func (s *script) view(w []string) error {
	epoch, err := strconv.ParseUint(w[1], 10, 64)
	v := replica.View{Epoch: epoch}
	for _, word := range w[2:] {
		disks, isDisks := strings.CutPrefix(word, "disks=")
		switch {
		case word == "founded":
			v.Founded = true
		case isDisks:
			var set []uint64
			for d := range strings.SplitSeq(disks, ",") {
				set = append(set, uint64(s.id(d)))
			}
			v.LastDisks = append(v.LastDisks, set)
		case word[0] == '+':
			v.Learners = append(v.Learners, s.peerOf(s.id(word[1:])))
		default:
			v.Voters = append(v.Voters, s.peerOf(s.id(word)))
		}
	}
	if _, one, ok := strings.Cut(w[0], "@"); ok {
		s.node(s.id(one)).step(Install{v})
	} else {
		s.install(v)
	}
	return err
}

func (s *script) peerOf(id crdt.Origin) replica.Member {
	p := replica.Member{ID: id}
	for _, n := range s.nodes {
		if n.id == id {
			p.Disk = n.diskID
		}
	}
	return p
}

func (s *script) operate(w []string) error {
	n, key := s.node(s.id(w[1])), w[2]
	level, err := levelOf(w[len(w)-1])
	switch w[0] {
	case "add":
		n.put(key, w[3], level)
	case "remove":
		n.take(key, w[3], level)
	case "count":
		by, err := strconv.ParseUint(w[3], 10, 64)
		if err != nil {
			return err
		}
		s.seq++
		n.step(Update{
			ID: s.seq, Key: key, Write: level,
			Mutate: crdt.Mutate[crdt.GCounter](func(c *crdt.GCounterTx) error { return c.Increment(by) }),
		})
	case "delete":
		s.seq++
		n.step(Delete{ID: s.seq, Key: key, Write: level})
	case "forever":
		s.seq++
		n.step(DeleteForever{ID: s.seq, Key: key, Write: level})
	case "get":
		if r, ok := n.results[n.get(key, level)]; ok && r.Err == nil {
			s.log("%s", valueOf(s.t, r.Reader))
		}
	case "subscribe":
		s.seq++
		prefix, all := strings.CutSuffix(key, "*")
		n.step(Subscribe{ID: s.seq, Key: key, Prefix: prefix, All: all})
		return nil
	}
	return err
}

// fill adds elements in one update.
func (s *script) fill(w []string) error {
	many, err := strconv.Atoi(w[3])
	s.seq++
	s.node(s.id(w[1])).step(Update{ID: s.seq, Key: w[2],
		Mutate: crdt.Mutate[crdt.ORSet[string]](func(t *crdt.ORSetTx[string]) error {
			var err error
			for i := range many {
				err = errors.Join(err, t.Add(strconv.Itoa(i)))
			}
			return err
		})})
	return err
}

// valueOf prints a set or a counter, the latter with the number of its items.
func valueOf(t tb, r crdt.Reader) string {
	if c, err := (crdt.GCounter{}).View(r); err == nil && r.Len() > 0 {
		return fmt.Sprintf("%d in %d items", c.Value(), r.Len())
	}
	return fmt.Sprint(elems(t, r))
}

func levelOf(word string) (quorum.Level, error) {
	switch n, err := strconv.Atoi(strings.TrimPrefix(word, "to")); {
	case word == "local":
		return quorum.Local, nil
	case word == "majority":
		return quorum.Majority, nil
	case word == "linearizable":
		return quorum.Linearizable, nil
	case word == "all":
		return quorum.All, nil
	case err == nil:
		return quorum.To(n), nil
	}
	return quorum.Local, fmt.Errorf("no level: %q", word)
}

func (s *script) pass(w []string) error {
	n := len(s.net)
	if len(w) > 1 && w[0] != "wait" {
		var err error
		if n, err = strconv.Atoi(w[1]); err != nil {
			return err
		}
	}
	switch w[0] {
	case "deliver":
		for range min(n, len(s.net)) {
			s.deliver(0)
		}
	case "lose":
		s.net = s.net[min(n, len(s.net)):]
	case "quiet":
		s.quiet()
	case "wait":
		d, err := time.ParseDuration(w[1])
		s.advance(d)
		return err
	}
	return nil
}
