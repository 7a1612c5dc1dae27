package projection_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/projection"
)

// mall runs a projection of sales, of which a journal has two, until use returns.
func mall(cfg projection.Config[Sold], use func(context.Context, *projection.Projection[Sold]) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "mall", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()
	cfg.Name, cfg.Role, cfg.Type, cfg.Parts = "sales", "backend", "Shop", 1
	cfg.Events = schema.CBOR(schema.Type("sold", Sold{}))
	store := &memory.Store{}
	for i, cents := range []int{100, 200} {
		body, err := cfg.Events.Encode(Sold{cents})
		if err != nil {
			fmt.Println(err)
			return
		}
		write := persistence.Write{Entity: "books", After: uint64(i), ID: uint64(i), Events: []persistence.Event{
			{Seq: uint64(i + 1), Name: body.Name, Version: body.Version, Body: body.Body, At: time.Now()},
		}}
		if _, err := store.Append(ctx, persistence.Hosting{Type: "Shop"}, []persistence.Write{write}); err != nil {
			fmt.Println(err)
		}
	}
	cfg.Reader = store
	sales, err := projection.Start(node, cfg)
	if err == nil {
		err = use(ctx, sales)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// ledger is a target of one's own: it commits what it writes together with the offset. A database would do so
// in one transaction.
type ledger struct {
	projection.Memory // keeps the offsets, too
	cents             int
	done              chan<- int
}

func (l *ledger) Handle(
	ctx context.Context, c projection.Claim, b *projection.Batch[Sold],
) (projection.Outcome, error) {
	sum := l.cents
	handled, err := b.Each(ctx, func(_ context.Context, e projection.Recorded[Sold]) error {
		sum += e.Event.Cents
		return nil
	})
	if err != nil {
		return projection.Outcome{Handled: 0}, err
	}
	if err := l.Save(ctx, c, b.After); err != nil { // refused if another worker has claimed the part
		return projection.Outcome{}, err
	}
	l.cents = sum
	l.done <- sum
	return projection.Outcome{Handled: handled, Saved: true}, nil
}

func ExampleTarget() {
	done := make(chan int, 2)
	var target projection.Target[Sold] = &ledger{done: done}
	mall(projection.Config[Sold]{Target: target}, func(context.Context, *projection.Projection[Sold]) error {
		sum := 0
		for sum < 300 { // in one batch or in two
			sum = <-done
		}
		fmt.Println(sum)
		return nil
	})
	// Output: 300
}

// An event that the handler fails at is tried again. Skip may leave it out; Status tells how far the parts are.
func ExampleFailure() {
	skipped, done := make(chan projection.Failure, 1), make(chan int, 1)
	handle := func(_ context.Context, e projection.Recorded[Sold]) error {
		if e.Seq == 1 {
			return errors.New("the table has no such column")
		}
		done <- e.Event.Cents
		return nil
	}
	mall(projection.Config[Sold]{
		Target:     projection.AtLeastOnce(&projection.Memory{}, handle),
		BackoffMin: time.Millisecond,
		Skip: func(f *projection.Failure) bool {
			if f.Tries < 3 {
				return false
			}
			skipped <- *f
			return true
		},
	}, func(ctx context.Context, sales *projection.Projection[Sold]) error {
		f := <-skipped
		fmt.Println(f.Entity, f.Seq, f.Err)
		fmt.Println(<-done)
		for _, status := range sales.Status() {
			var part projection.PartStatus = status
			var at projection.Progress = part.Progress
			fmt.Println("part", part.Part, part.Phase == projection.Running, at.Omitted, "left out")
		}
		var state projection.State
		state, err := sales.Stored(ctx)
		fmt.Println(len(state.Parts), "part is stored")
		return err
	})
	// Output:
	// "books" 1 the table has no such column
	// 200
	// part 0 true 1 left out
	// 1 part is stored
}

// Offsets can be kept elsewhere. A later claim of a part refuses what an earlier one saves.
func ExampleOffsets() {
	ctx := context.Background()
	var offsets projection.Offsets = &projection.Memory{}
	part := projection.Part{Number: 0, Of: 16}
	first, _, err := offsets.Claim(ctx, "sales", part)
	fmt.Println(err, offsets.Save(ctx, first, projection.Progress{Offset: "7", Handled: 7}))

	var second projection.Claim
	second, at, err := offsets.Claim(ctx, "sales", part)
	fmt.Println(at.Handled, second.Number > first.Number, err)
	fmt.Println(errors.Is(offsets.Save(ctx, first, at), projection.ErrFenced))
	state, err := offsets.Look(ctx, "sales")
	var zero projection.PartState = state.Parts[0]
	fmt.Println(zero.Progress.Handled, err)
	// Output:
	// <nil> <nil>
	// 7 true <nil>
	// true
	// 7 <nil>
}
