package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/durable/lmdb"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// bank runs accounts that take what producers deliver.
func bank(account func() sharding.Entity[Booking],
	use func(context.Context, *sharding.Region[Booking]) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "bank", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()
	t, err := delivery.Consume(sharding.EntityType[Booking]{
		Identity: sharding.Identity{Name: "Account", Role: "backend"},
		Messages: sharding.CBOR[Booking](Deposit{}, Balance{}),
		New:      func(*sharding.Context[Booking]) sharding.Entity[Booking] { return account() },
	}, delivery.ConsumerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	accounts, err := sharding.Start(node, t)
	if err == nil {
		err = use(ctx, accounts)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// A producer with a queue on disk goes on where it was, after its process has ended.
func ExampleQueue() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	env, err := lmdb.Open(dir, lmdb.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = env.Close() }()
	table, err := env.Table("counter-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	bank(func() sharding.Entity[Booking] { return &Account{} },
		func(ctx context.Context, accounts *sharding.Region[Booking]) error {
			var queue delivery.Queue = delivery.NewTableQueue(table)
			counter, err := delivery.NewProducer(accounts, delivery.Config{ID: "counter-1", Queue: queue})
			if err != nil {
				return err
			}
			err = counter.Send(ctx, "alice", Deposit{100}) // it is stored
			counter.Close()
			if err != nil {
				return err
			}

			// A new value for each producer: this one finds what the one before has left.
			if counter, err = delivery.NewProducer(accounts, delivery.Config{
				ID: "counter-1", Queue: delivery.NewTableQueue(table),
			}); err != nil {
				return err
			}
			defer counter.Close()
			if err := counter.Flush(ctx); err != nil {
				return err
			}
			cents, err := sharding.Ask(ctx, accounts.Ref("alice"), Balance{})
			fmt.Println(cents)
			return err
		})
	// Output: 100
}

// savings is an account that knows each message again, also in a later incarnation, if it keeps what it has
// noted together with its state.
type savings struct {
	Account
	session delivery.Session
	seq     uint64
}

// Deliver handles what producers have sent.
func (s *savings) Deliver(_ *sharding.Context[Booking], d *delivery.Delivery[Booking]) error {
	if d.Session == s.session && d.Seq <= s.seq {
		return nil // it was handled before: confirm it again
	}
	s.session, s.seq = d.Session, d.Seq
	var confirm *delivery.Confirmation = d.Later() // not before the money is there
	s.cents += d.Message.(Deposit).Cents
	return confirm.Confirm()
}

// A Receiver is told what was delivered, and may confirm it later than its handler returns.
func ExampleReceiver() {
	var _ delivery.Receiver[Booking] = &savings{}

	bank(func() sharding.Entity[Booking] { return &savings{} },
		func(ctx context.Context, accounts *sharding.Region[Booking]) error {
			counter, err := delivery.NewProducer(accounts, delivery.Config{ID: "counter-1"})
			if err != nil {
				return err
			}
			defer counter.Close()
			err = counter.Deliver(ctx, "alice", Deposit{100})
			var stats delivery.Stats = counter.Stats()
			fmt.Println(stats.Confirmed, "confirmed")
			cents, err2 := sharding.Ask(ctx, accounts.Ref("alice"), Balance{})
			fmt.Println(cents)
			return errors.Join(err, err2)
		})
	// Output:
	// 1 confirmed
	// 100
}

// shared is a queue of one's own: rows in a map, stored before done is called.
type shared struct {
	rows       map[delivery.RowKey]delivery.Row
	generation uint64
}

func (s *shared) Load() (generation uint64, rows []delivery.Row, err error) {
	for _, r := range s.rows {
		rows = append(rows, r)
	}
	return s.generation, rows, nil
}

func (s *shared) Commit(b delivery.Batch, done func(error)) {
	s.generation = max(s.generation, b.Generation)
	for _, r := range b.Add {
		s.rows[r.RowKey] = r
	}
	for _, k := range b.Remove {
		delete(s.rows, k)
	}
	done(nil) // of a database: when it has committed
}

func ExampleQueue_own() {
	queue := &shared{rows: map[delivery.RowKey]delivery.Row{}}
	var tests delivery.Queue = delivery.NewMemoryQueue() // one for tests, whose calls can fail
	for _, q := range []delivery.Queue{queue, tests} {
		q.Commit(delivery.Batch{Generation: 1, Add: []delivery.Row{{RowKey: delivery.RowKey{Seq: 1}}}},
			func(err error) { fmt.Println("stored:", err) })
		generation, rows, err := q.Load()
		fmt.Println(generation, len(rows), err)
	}
	// Output:
	// stored: <nil>
	// 1 1 <nil>
	// stored: <nil>
	// 1 1 <nil>
}
