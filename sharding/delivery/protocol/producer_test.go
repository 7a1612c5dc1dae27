package protocol

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// sender is a producer under the test's hands.
type sender struct {
	t    *testing.T
	now  time.Time
	p    *Producer
	sent []PacketSend
	done []Outcome
	free int
}

func newSender(t *testing.T, cfg ProducerConfig, rows ...Row) *sender {
	t.Helper()
	cfg.ID, cfg.Generation = "web", 9
	s := &sender{t: t, now: time.Unix(0, 0)}
	p, err := NewProducer(s.now, cfg, rows)
	if err != nil {
		t.Fatal(err)
	}
	s.p = p
	return s
}

func (s *sender) step(in ProducerInput) {
	for _, in := range []ProducerInput{in, Flush{}} {
		fx := s.p.Step(s.now, in)
		s.p.check()
		s.sent, s.done, s.free = append(s.sent, fx.Send...), append(s.done, fx.Done...), s.free+len(fx.Freed)
	}
}

func (s *sender) submit(op uint64, entity string, confirm bool) {
	s.step(Submit{Op: op, Entity: entity, Body: []byte("x"), Confirm: confirm})
}

func (s *sender) ack(entity string, channel uint64, v Verdict, confirmed uint64) {
	s.step(Ack{
		Entity: entity, Session: Session{9, channel}, Verdict: v, Confirmed: confirmed,
		Expected: confirmed + 1, Window: 5,
	})
}

// A producer that meets its successor ends everything, and sends nothing any more.
func TestGiveUp(t *testing.T) {
	for _, durable := range []bool{false, true} {
		s := newSender(t, ProducerConfig{Durable: durable})
		for op := range uint64(4) {
			s.submit(op+1, fmt.Sprint("e", op%2), op%2 == 0)
		}
		s.done = nil
		s.step(Stored{})
		s.ack("e0", 1, Superseded, 0)
		var ops []uint64
		for _, o := range s.done {
			if o.Result == GivenUp {
				ops = append(ops, o.Op)
			}
		}
		slices.Sort(ops)
		want := []uint64{1, 3}
		if durable { // those in the batch under way, too
			want = []uint64{1, 2, 3, 4}
		}
		if !slices.Equal(ops, want) || s.free != 4 || !s.p.GaveUp() || !s.p.Deadline().IsZero() {
			t.Errorf("durable %v: ended %v, freed %d", durable, ops, s.free)
		}
		n := len(s.sent)
		s.submit(9, "e0", true)
		s.step(Tick{})
		if last := s.done[len(s.done)-1]; last.Result != GivenUp || len(s.sent) != n {
			t.Errorf("afterwards: %v, %d sent", last, len(s.sent)-n)
		}
	}
}

func TestProducerBounds(t *testing.T) {
	s := newSender(t, ProducerConfig{BufferMax: 3, ChannelsMax: 2})
	for op := range uint64(4) {
		s.submit(op+1, fmt.Sprint("e", op), false)
	}
	if last := s.done[len(s.done)-1]; last.Op != 4 || last.Result != NoRoom {
		t.Errorf("beyond BufferMax: %v", last)
	}
	for op := range uint64(3) {
		s.ack(fmt.Sprint("e", op), op+1, Fine, 1)
	}
	if st := s.p.Stats(); st.Channels != 2 || st.CleanedUp != 1 || st.Unconfirmed != 0 {
		t.Errorf("beyond ChannelsMax: %+v", st)
	}
	s.submit(5, "e0", true) // whose channel is gone
	if x := s.sent[len(s.sent)-1].Packet; x.Session != (Session{9, 4}) || x.Seq != 1 {
		t.Errorf("a new session begins with %v", x)
	}
}

// Acks that are about nothing that was sent, and refusals, change nothing.
func TestStrangeAcks(t *testing.T) {
	s := newSender(t, ProducerConfig{})
	s.submit(1, "e", true)
	s.ack("e", 1, Fine, 2)
	s.ack("e", 2, Fine, 1)
	s.ack("other", 1, Fine, 1)
	s.ack("e", 1, Busy, 1)
	s.step(Stored{})
	s.step(Unsent{Entity: "other"})
	if st := s.p.Stats(); st.Stale != 3 || st.Busy != 1 || st.Confirmed != 0 || len(s.sent) != 1 {
		t.Errorf("%+v", st)
	}
	s.step(Ack{Entity: "e", Session: Session{9, 1}, Verdict: Gap, Confirmed: 1, Expected: 1 << 63, Round: 0})
	if st := s.p.Stats(); st.Confirmed != 1 {
		t.Errorf("%+v", st)
	}
}

// What the connection had no room for is tried again after a hundredth of ResendFirst, and after
// more the next time.
func TestUnsentIsTriedSooner(t *testing.T) {
	s := newSender(t, ProducerConfig{})
	s.submit(1, "e", false)
	for _, want := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		s.step(Unsent{Entity: "e", Session: Session{9, 1}})
		if d := s.p.Deadline().Sub(s.now); d != want {
			t.Errorf("tried again after %v, want %v", d, want)
		}
		s.now = s.p.Deadline()
		s.step(Tick{})
	}
	if len(s.sent) != 4 {
		t.Errorf("sent %d times", len(s.sent))
	}
}

func TestRestoreRefusesHoles(t *testing.T) {
	row := func(gen, seq uint64) Row { return Row{RowKey{Session{gen, 1}, seq}, "e", []byte("x")} }
	for name, rows := range map[string][]Row{
		"hole": {row(1, 2), row(1, 4)}, "own generation": {row(9, 1)}, "no number": {row(1, 0)},
		"twice": {row(1, 1), row(1, 1)},
	} {
		if _, err := NewProducer(time.Unix(0, 0),
			ProducerConfig{ID: "web", Generation: 9, Durable: true}, rows); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	s := newSender(t, ProducerConfig{Durable: true}, row(2, 5), row(1, 3), row(2, 6)) // session 1 had been confirmed
	s.step(Flush{})
	if st := s.p.Stats(); st.Unconfirmed != 2 || len(s.sent) != 1 || s.sent[0].Packet.Seq != 5 {
		t.Errorf("%+v, sent %v", st, s.sent)
	}
}

func TestConfigs(t *testing.T) {
	bad := ProducerConfig{BufferMax: -1, ChannelsMax: -1, ResendFirst: 1, CleanupUnused: -1, StoreRetry: -1}.Validate()
	if bad == nil || len(bad.(interface{ Unwrap() []error }).Unwrap()) != 7 {
		t.Errorf("faults of a producer: %v", bad)
	}
	bad = ConsumerConfig{Window: -1, BufferMax: -1, ProducersMax: -1, ForgetAfter: -1}.Validate()
	if bad == nil || len(bad.(interface{ Unwrap() []error }).Unwrap()) != 4 {
		t.Errorf("faults of a consumer: %v", bad)
	}
	if err := (ConsumerConfig{}).Validate(); err != nil {
		t.Error(err)
	}
}

// Only a producer that was silent for ForgetAfter makes room for another.
func TestProducersMax(t *testing.T) {
	c := NewConsumer(ConsumerConfig{ProducersMax: 2, ForgetAfter: time.Minute}, "e", 1)
	now := time.Unix(0, 0)
	send := func(id string, after time.Duration) *ConsumerEffects {
		fx := c.Step(now.Add(after), Packet{
			Producer: id, Session: Session{1, 1}, Seq: 1, Base: 1, Body: []byte("x"), AckNow: true,
		})
		c.check()
		return fx
	}
	send("a", 0)
	send("b", time.Second)
	if fx := send("c", time.Minute-1); fx.Deliver != nil || len(fx.Send) != 1 || fx.Send[0].Ack.Verdict != Busy {
		t.Errorf("no room: %v", fx.Strings())
	}
	if fx := send("c", time.Minute); fx.Deliver == nil {
		t.Errorf("a was silent: %v", fx.Strings())
	}
	if fx := send("b", time.Minute); fx.Deliver != nil {
		t.Errorf("b is still known: %v", fx.Strings())
	}
	if st := c.Stats(); st.Producers != 2 || st.Forgotten != 1 || st.Refused != 1 || st.Duplicates != 1 {
		t.Errorf("%+v", st)
	}
}

// A late word of an earlier incarnation's handler confirms nothing that the present one is
// handling.
func TestWordOfAnEarlierIncarnation(t *testing.T) {
	c := NewConsumer(ConsumerConfig{}, "e", 2)
	p := Packet{Producer: "a", Session: Session{1, 1}, Seq: 3, Base: 3, Body: []byte("x"), AckNow: true}
	if fx := c.Step(timeZero, p); fx.Deliver == nil {
		t.Fatal("not delivered")
	}
	for _, h := range []Handled{
		{1, "a", Session{1, 1}, 3}, {2, "a", Session{1, 1}, 2}, {2, "a", Session{1, 2}, 3}, {2, "b", Session{1, 1}, 3},
	} {
		if fx := c.Step(timeZero, h); len(fx.Send) != 0 {
			t.Errorf("%+v: %v", h, fx.Strings())
		}
	}
	if st := c.Stats(); st.Stale != 4 {
		t.Errorf("%+v", st)
	}
	if fx := c.Step(timeZero, Handled{2, "a", Session{1, 1}, 3}); len(fx.Send) != 1 || fx.Send[0].Ack.Confirmed != 3 {
		t.Errorf("%v", fx.Strings())
	}
}
