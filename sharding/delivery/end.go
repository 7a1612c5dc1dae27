package delivery

import (
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/runloop"
)

// ProducerBroken is the event that the machine of a producer has panicked, and the producer ends.
// It is a defect. It reaches the log of the node, and ddata.Config.OnEvent.
type ProducerBroken struct {
	Type     string // of the entities
	Producer string // its ID
	State    string // what it had counted
	Panic    string
	Stack    string
}

var _ events.Event = ProducerBroken{}

// Line implements events.Event.
func (e ProducerBroken) Line() events.Line {
	return events.Line{Level: slog.LevelError, Message: "a producer is broken", Attrs: []slog.Attr{
		slog.String("type", e.Type), slog.String("producer", e.Producer), slog.String("panic", e.Panic),
		slog.String("state", e.State), slog.String("stack", e.Stack),
	}}
}

// String implements events.Event.
func (e ProducerBroken) String() string { return e.Line().String() }

// ended is why the producer delivers nothing any more; nil: it does.
func (s *sender) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return ErrSuperseded
	}
	select {
	case <-s.closed:
		return s.cause
	default:
		return nil
	}
}

// endReason is ended for a caller whose input the loop has refused: the loop has stopped, and
// closed is closed before that, or soon.
func (s *sender) endReason() error {
	s.node.Await(s.closed, nil, nil)
	return s.ended()
}

// end stops everything and waits for the loop.
func (s *sender) end() {
	s.letGo()
	s.loop.Stop()
}

func (s *sender) letGo() {
	s.once.Do(func() {
		close(s.closed)
		s.unbox()
		s.unwatch()
		s.unreport()
	})
}

// breaks ends the producer because its machine has panicked, on the goroutine of the loop. Nothing
// that it shares with others is harmed, so the node goes on.
func (s *sender) breaks(b runloop.Broken) {
	s.mu.Lock()
	s.cause = fmt.Errorf("%w: producer %q: %v", ErrBroken, s.cfg.ID, b.Value)
	s.mu.Unlock()
	s.letGo()
	s.emit(ProducerBroken{
		Type: s.typ, Producer: s.cfg.ID, State: fmt.Sprintf("%+v", s.m.Stats()),
		Panic: fmt.Sprint(b.Value), Stack: string(b.Stack),
	})
}
