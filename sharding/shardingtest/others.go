package shardingtest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/coterie-go/coterie/sharding"
)

// Others stand in for entities that are not under test: they keep what reaches them, and answer as the
// test wants. Its methods may be called from any goroutine.
type Others[M any] struct {
	n      *Node
	name   string
	region *sharding.Region[M]

	mu     sync.Mutex
	sent   []Sent[M]
	answer func(to string, msg M) (reply any, err error)
}

// Sent is a message to an entity that is not under test.
type Sent[M any] struct {
	To    string
	Msg   M
	Asked bool   // it was a question
	Raw   []byte // what sharding.Region.SendRaw has sent; Msg is zero then
}

// Stub starts a type on a node whose entities all are stand-ins: for what entities under test tell and
// ask other types. New of the type is not called.
func Stub[M any](n *Node, typ sharding.EntityType[M]) *Others[M] {
	n.t.Helper()
	o := &Others[M]{n: n, name: typ.Name}
	typ.New = func(*sharding.Context[M]) sharding.Entity[M] { return other[M]{o} }
	n.start(func() (err error) {
		o.region, err = startOn(n, typ)
		return err
	})
	return o
}

// Region is the type's on the node, until the next Restart.
func (o *Others[M]) Region() *sharding.Region[M] { return o.region }

// Sent is what was sent, in order.
func (o *Others[M]) Sent() []Sent[M] {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sent)
}

// Answer says what questions are answered with from now on: a value of the request's reply type, or an
// error, which is as Context.Fail. Without it the answer is an error that says so.
func (o *Others[M]) Answer(fn func(to string, msg M) (reply any, err error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer = fn
}

// errNoAnswer: a question came, and the test has not said what its answer is.
var errNoAnswer = errors.New("shardingtest: the test gives no answer to this question; see Others.Answer")

// took notes a message, and returns the answer.
func (o *Others[M]) took(s Sent[M]) (reply any, err error) {
	o.n.note(s.To, "of %q stands in, and gets %s", o.name, shown(s.Msg))
	o.mu.Lock()
	o.sent = append(o.sent, s)
	answer := o.answer
	o.mu.Unlock()
	switch {
	case !s.Asked:
		return nil, nil
	case answer == nil:
		return nil, fmt.Errorf("%w: %T to %q of %q", errNoAnswer, s.Msg, s.To, o.name)
	}
	return answer(s.To, s.Msg)
}

// other is a stand-in.
type other[M any] struct{ o *Others[M] }

var _ sharding.Carrier[int] = other[int]{}

// Receive implements sharding.Entity.
func (e other[M]) Receive(c *sharding.Context[M], msg M) error {
	reply, err := e.o.took(Sent[M]{To: c.ID(), Msg: msg, Asked: c.Asked()})
	switch {
	case !c.Asked():
		return nil
	case err != nil:
		return c.Fail(err)
	}
	return c.Reply(reply)
}

// Carried implements sharding.Carrier.
func (e other[M]) Carried(c *sharding.Context[M], body []byte) error {
	_, err := e.o.took(Sent[M]{To: c.ID(), Raw: slices.Clone(body)})
	return err
}
