package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding"
)

// runTell measures entity messages that stay on their node. Every figure counts messages that were handled, not sent.
func runTell(ctx context.Context, o options) error {
	d := o.d
	nodes, stop, err := startNodes(ctx, 1, nil)
	if err != nil {
		return err
	}
	defer stop()
	region, err := startEntities(nodes[0])
	if err != nil {
		return err
	}
	ids := make([]string, 64)
	for i := range ids {
		ids[i] = "entity-" + strconv.Itoa(i)
		if _, err := sharding.Ask(ctx, region, ids[i], Query{}); err != nil {
			return err
		}
	}
	settle := func() error { _, err := counted(ctx, region, ids); return err } // a question is behind every note to the same entity
	refs := make([]*sharding.EntityRef[Message], len(ids))
	for i, id := range ids {
		refs[i] = region.Ref(id)
	}
	ways := []struct {
		name string
		tell func(c, i int) error
	}{
		{"id", func(c, i int) error { return region.Tell(ctx, ids[(c+i)%len(ids)], note) }},
		{"ref", func(c, i int) error { return refs[(c+i)%len(refs)].Tell(ctx, note) }},
	}
	for _, senders := range []int{1, 16} {
		plain := newMailbox()
		limit, _ := handled(senders, d/2, plain.tell, plain.settle)
		for _, way := range ways {
			l, err := handled(senders, d, way.tell, settle)
			if err != nil {
				return err
			}
			var f figures
			f.add("ops_per_s", int(l.perSecond()))
			f.add("ns_per_op", nsPerOp(l))
			f.add("limit_ops_per_s", int(limit.perSecond()))
			f.add("ratio", l.perSecond()/limit.perSecond())
			report("tell", way.name+"-"+strconv.Itoa(senders)+"-senders", f)
		}
	}
	l, err := callers(1, d, func(_, i int) error {
		_, err := sharding.Ask(ctx, region, ids[i%len(ids)], Query{N: uint64(i)})
		return err
	})
	if err != nil {
		return err
	}
	report("tell", "ask-1-caller", l.figures())
	return nil
}

// handled runs tell from n goroutines for d; settle returns when all that was sent has been handled.
func handled(n int, d time.Duration, tell func(c, i int) error, settle func() error) (load, error) {
	var (
		wg   sync.WaitGroup
		sent atomic.Int64
	)
	errs := make([]error, n+1)
	start := time.Now()
	end := start.Add(d)
	for c := range n {
		wg.Go(func() {
			i := 0
			for ; i%256 != 0 || time.Now().Before(end); i++ {
				if errs[c] = tell(c, i); errs[c] != nil {
					break
				}
			}
			sent.Add(int64(i))
		})
	}
	wg.Wait()
	errs[n] = settle()
	return load{ops: int(sent.Load()), elapsed: time.Since(start)}, errors.Join(errs...)
}

// mailbox is the cheapest one there is: a slice under a mutex, emptied by one goroutine.
type mailbox struct {
	mu    sync.Mutex
	queue []Message
	wake  chan struct{}
	idle  chan struct{} // closed when all has been handled
}

func newMailbox() *mailbox {
	m := &mailbox{wake: make(chan struct{}, 1), idle: make(chan struct{})}
	go m.run()
	return m
}

func (m *mailbox) tell(int, int) error {
	m.mu.Lock()
	m.queue = append(m.queue, note)
	first := len(m.queue) == 1
	m.mu.Unlock()
	if first {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

// settle ends the mailbox and returns when all that was told has been handled.
func (m *mailbox) settle() error {
	close(m.wake)
	<-m.idle
	return nil
}

func (m *mailbox) run() {
	defer close(m.idle)
	var spare []Message
	for range m.wake {
		spare = m.empty(spare)
	}
	m.empty(spare)
}

func (m *mailbox) empty(spare []Message) []Message {
	m.mu.Lock()
	work := m.queue
	m.queue = spare[:0]
	m.mu.Unlock()
	clear(work)
	return work
}
