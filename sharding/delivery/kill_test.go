package delivery_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// childEnv makes this test binary a node with a producer whose queue is on disk: "ROLE DIRECTORY
// ROUND".
const childEnv = "COTERIE_DELIVERY_TEST_CHILD"

const (
	killEntities = 8         // those with odd numbers handle nothing before the last round
	killRound    = 1_000_000 // the numbers of a round begin after as many for each one before
)

// teller is the entity: it says what it handles before that is confirmed.
type teller struct {
	out  *lines
	last bool
}

func (k *teller) Receive(c *sharding.Context[message], m message) error {
	if s, ok := m.(step); ok {
		if !k.last && strings.ContainsAny(c.ID(), "13579") {
			<-c.Done()
			return context.Cause(c)
		}
		k.out.say("handled", c.ID(), s.N)
	}
	return nil
}

// lines writes whole lines, each before the call returns.
type lines struct{ mu sync.Mutex }

func (l *lines) say(words ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(os.Stdout, words...)
}

// runProducer is a life of the process. It sends without end and says what Send has accepted. In
// the last life it sees to it that all is confirmed.
func runProducer(role, dir string, round int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	last, out := role == "last", &lines{}
	env, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		return err
	}
	table, err := env.Table("producer")
	if err != nil {
		return err
	}
	n, err := ddata.Start(ctx, ddata.Config{
		Name: "test", Bind: "127.0.0.1:0",
		BootstrapExpect: 1, Preset: ddata.Local, Roles: []string{"backend"}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	typ, err := delivery.Consume(sharding.EntityType[message]{
		Identity: sharding.Identity{Name: "Teller", Role: "backend", Shards: 4},
		Messages: sharding.CBOR[message](step{}),
		New:      func(*sharding.Context[message]) sharding.Entity[message] { return &teller{out, last} },
	}, delivery.ConsumerConfig{})
	if err != nil {
		return err
	}
	g, err := sharding.Start(n, typ)
	if err != nil {
		return err
	}
	p, err := delivery.NewProducer(g, delivery.Config{
		ID: "p", Queue: delivery.NewTableQueue(table), BufferMax: 1 << 20, ResendFirst: 100 * time.Millisecond,
		StoreRetry: 10 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	if last {
		if err := p.Flush(ctx); err != nil {
			return err
		}
		return forgotten(ctx, table)
	}
	failed := make(chan error)
	for e := range killEntities {
		go func() {
			id := fmt.Sprint("e", e)
			for i := round*killRound + 1; ; i++ {
				if err := p.Send(ctx, id, step{"p", i}); err != nil {
					failed <- err
					return
				}
				out.say("sent", id, i)
			}
		}()
	}
	return <-failed
}

// forgotten waits until a queue holds no message: what is confirmed is taken out of it a little
// later.
func forgotten(ctx context.Context, table durable.Table) error {
	for {
		rows := 0
		err := table.Load(func(durable.Row) error { rows++; return nil })
		if rows == 1 || err != nil { // the generation stays
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d rows are left: %w", rows, ctx.Err())
		}
	}
}

// life is what one process has said.
type life struct{ sent, handled map[string][]int }

// producing runs a process until it has said enough, and kills it; 0: until it ends by itself,
// which it has to do well.
func producing(t *testing.T, role, dir string, round, enough int) life {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+fmt.Sprint(role, " ", dir, " ", round))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	l := life{map[string][]int{}, map[string][]int{}}
	said := 0
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if err != nil { // a line that the kill has cut in two does not count
			break
		}
		var what, id string
		var n int
		if _, err := fmt.Sscan(line, &what, &id, &n); err != nil {
			t.Fatalf("the process says %q: %v", line, err)
		}
		if what == "sent" {
			l.sent[id] = append(l.sent[id], n)
		} else {
			l.handled[id] = append(l.handled[id], n)
		}
		if said++; said == enough {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); enough == 0 && err != nil || enough > 0 && said < enough {
		t.Fatalf("round %d: %v\n%s", round, err, stderr.String())
	}
	return l
}

// A process with a producer whose queue is on disk is killed again and again, at any moment: every
// message that Send had accepted is handled, in the order of each entity, if not in that life of
// the process then in a later one.
func TestKilledProducerComesBack(t *testing.T) {
	dir := t.TempDir()
	sent, handled, lifted := map[string][]int{}, map[string]map[int]bool{}, 0
	took := func(l life) {
		for id, ns := range l.handled {
			for i, n := range ns {
				if i > 0 && n <= ns[i-1] {
					t.Errorf("%s: %d after %d in one incarnation", id, n, ns[i-1])
				}
				if handled[id] == nil {
					handled[id] = map[int]bool{}
				}
				handled[id][n] = true
			}
		}
	}
	for round := range 4 {
		l := producing(t, "send", dir, round, 300+170*round)
		for id, ns := range l.sent {
			sent[id] = append(sent[id], ns...)
		}
		took(l)
	}
	for id, ns := range sent {
		for _, n := range ns {
			if !handled[id][n] {
				lifted++
			}
		}
	}
	took(producing(t, "last", dir, 9, 0))
	total := 0
	for id, ns := range sent {
		for _, n := range ns {
			if total++; !handled[id][n] {
				t.Errorf("%s: %d was accepted and never handled", id, n)
			}
		}
	}
	t.Logf("%d messages accepted over 4 kills, %d of them first handled by the last process", total, lifted)
	if lifted == 0 || len(handled) != killEntities {
		t.Error("nothing was tested")
	}
	if l := producing(t, "last", dir, 10, 0); len(l.handled) > 0 {
		t.Errorf("what was confirmed comes again: %v", l.handled)
	}
}
