package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/golden"
)

// TestScripts plays the golden scripts in testdata; see stage.command for what they can say.
func TestScripts(t *testing.T) {
	golden.Run(t, "testdata/*.txt", func(t *testing.T,
		out *bytes.Buffer) golden.Player {
		return newStage(t, out).command
	})
}

// stage is one producer and its entities, whose wires wait until the script moves them.
type stage struct {
	t       *testing.T
	out     *bytes.Buffer
	now     time.Time
	cfg     ProducerConfig
	p       *Producer
	disk    testProducer // for its disk alone
	entity  map[string]*Consumer
	starts  uint64
	packets []PacketSend
	acks    []Ack
	op      uint64
}

func newStage(t *testing.T, out *bytes.Buffer) *stage {
	s := &stage{t: t, out: out, now: time.Unix(0, 0), entity: map[string]*Consumer{}}
	s.cfg = ProducerConfig{ID: "web", Origin: 7}
	return s
}

// command is one of
//
//	producer [durable]           a new process of the producer
//	entity ID [WINDOW]           a new incarnation of an entity
//	submit ENTITY BODY [confirm]
//	stored [failed]              the batch under way
//	packet [lose | again | later]  the first one on its way arrives, is lost, arrives and stays on its way, or is overtaken by the others
//	ack [lose | again]             the same
//	handled | failed | held ENTITY SEQ   what the handler says
//	moved ENTITY                 its shard has another home
//	after DURATION
func (s *stage) command(words []string) error {
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "producer":
		s.starts++
		s.cfg.Durable, s.cfg.Generation = arg(1) == "durable", s.starts
		p, err := NewProducer(s.now, s.cfg, s.disk.disk)
		if err != nil {
			return err
		}
		s.p = p
		s.step(Flush{})
	case "entity":
		s.starts++
		window, _ := strconv.Atoi(arg(2))
		s.entity[words[1]] = NewConsumer(ConsumerConfig{Window: window}, words[1], s.starts)
	case "submit":
		s.op++
		s.step(Submit{Op: s.op, Entity: words[1], Body: []byte(words[2]), Confirm: arg(3) == "confirm"})
		s.step(Flush{})
	case "stored":
		if arg(1) == "failed" {
			s.step(Stored{Err: errors.New("disk")})
		} else {
			s.disk.apply(s.disk.batch)
			s.step(Stored{})
		}
		s.step(Flush{})
	case "packet":
		return s.packet(arg(1))
	case "ack":
		return s.ack(arg(1))
	case "handled", "failed", "held":
		seq, _ := strconv.ParseUint(arg(2), 10, 64)
		return s.says(words[0], words[1], seq)
	case "moved":
		s.step(Moved{Of: func(entity string) bool { return entity == words[1] }})
		s.step(Flush{})
	case "after":
		d, err := time.ParseDuration(words[1])
		s.now = s.now.Add(d)
		if at := s.p.Deadline(); !at.IsZero() && !at.After(s.now) {
			s.step(Tick{})
		}
		return err
	default:
		return fmt.Errorf("no command %q", words[0])
	}
	return nil
}

func (s *stage) step(in ProducerInput) {
	fx := s.p.Step(s.now, in)
	s.p.check()
	if fx.Store != nil {
		s.disk.batch = fx.Store
	}
	s.packets = append(s.packets, fx.Send...)
	s.print(fx.Strings())
}

func (s *stage) consume(id string, in ConsumerInput) {
	c := s.entity[id]
	fx := c.Step(s.now, in)
	c.check()
	for _, a := range fx.Send {
		s.acks = append(s.acks, a.Ack)
	}
	s.print(fx.Strings())
}

func (s *stage) print(lines []string) {
	for _, l := range lines {
		fmt.Fprintf(s.out, "%s\n", l)
	}
}

func (s *stage) packet(fate string) error {
	if len(s.packets) == 0 {
		return errors.New("no packet is on its way")
	}
	x := s.packets[0]
	if fate == "later" {
		s.packets = append(s.packets[1:], x)
		return nil
	}
	if fate != "again" {
		s.packets = s.packets[1:]
	}
	if fate != "lose" {
		s.consume(x.Entity, x.Packet)
	}
	return nil
}

func (s *stage) ack(fate string) error {
	if len(s.acks) == 0 {
		return errors.New("no ack is on its way")
	}
	a := s.acks[0]
	if fate != "again" {
		s.acks = s.acks[1:]
	}
	if fate != "lose" {
		s.step(a)
		s.step(Flush{})
	}
	return nil
}

func (s *stage) says(what, id string, seq uint64) error {
	c := s.entity[id]
	f := c.flows[s.cfg.ID]
	if f == nil {
		return errors.New("the entity does not know the producer")
	}
	switch what {
	case "handled":
		s.consume(id, Handled{Incarnation: c.incarnation, Producer: f.producer, Session: f.session, Seq: seq})
	case "failed":
		s.consume(id, Failed{Incarnation: c.incarnation, Producer: f.producer, Session: f.session, Seq: seq})
	case "held":
		s.consume(id, Held{Producer: f.producer})
	}
	return nil
}
