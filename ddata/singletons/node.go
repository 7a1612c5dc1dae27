package singletons

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
)

// Singletons are those of one node. Their methods may be called from any goroutine.
type Singletons struct {
	h host.Host

	mu     sync.Mutex
	byName map[string]*Singleton
}

// Of returns those of a node. From the first call on it hears what the singletons of other nodes say.
func Of(h host.Host) *Singletons {
	return host.Attach(h, func() *Singletons {
		ss := &Singletons{h: h, byName: map[string]*Singleton{}}
		h.Channels.Handle(channel, transport.HandlerFunc(ss.hear))
		return ss
	})
}

// Run has cfg.Run run on the oldest node of a role and nowhere else: at no instant on two nodes that
// hold their leases.
//
// Errors: a faulty cfg, host.ErrUnknownRole, a name that is in use on this node, why the node has ended.
func (ss *Singletons) Run(cfg Config) (*Singleton, error) {
	cfg = cfg.withDefaults(ss.h.Self)
	err := cfg.check(ss.h.Self.Roles)
	if err == nil {
		err = ss.h.Lifecycle.Ended()
	}
	if err != nil {
		return nil, fmt.Errorf("ddata: singleton %q: %w", cfg.Name, err)
	}
	s := newSingleton(ss.h, cfg, ss.newAdmission())
	if err := ss.add(s); err != nil {
		return nil, fmt.Errorf("ddata: singleton %q: %w", cfg.Name, err)
	}
	s.follow()
	return s, nil
}

// newAdmission bounds what other nodes have waiting in front of one machine.
func (ss *Singletons) newAdmission() *runloop.Admission {
	member := func(node uint64) bool {
		v := ss.h.Cluster.View()
		return v != nil && v.Has(view.UID(node))
	}
	return runloop.NewAdmission(member, func() { ss.h.Channels.CountDrop(transport.DropInbox, 1) })
}

func (ss *Singletons) add(s *Singleton) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.byName[s.cfg.Name] != nil {
		return errors.New("a singleton of that name runs on this node already")
	}
	ss.byName[s.cfg.Name] = s
	return nil
}

// find returns the one of a name, nil if there is none.
func (ss *Singletons) find(name string) *Singleton {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byName[name]
}

// All returns a new slice of them, in the order of their names.
func (ss *Singletons) All() []*Singleton {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	all := make([]*Singleton, 0, len(ss.byName))
	for _, name := range slices.Sorted(maps.Keys(ss.byName)) {
		all = append(all, ss.byName[name])
	}
	return all
}

// hear takes the words of other nodes. A node that asks for a singleton that this node does not
// run gets no answer: a view tells it when this node is gone.
func (ss *Singletons) hear(from transport.NodeID, payload []byte) {
	name, w, err := decodeWord(payload)
	if err != nil {
		ss.h.Emit(events.MessageMalformed{What: "singleton", Peer: view.UID(from), Err: err})
		return
	}
	s := ss.find(name)
	if s == nil {
		return
	}
	if place, ok := s.admission.Admit(uint64(from), len(payload)); ok {
		s.loop.Force(input{in: singleton.Receive{From: view.UID(from), Word: w}, from: place})
	}
}
