package sharding_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// A loan is of a book, whose reader gets a notice when it is overdue.
type loan struct{ notices chan<- string }

// The messages of loans.
type (
	loanMessage interface{ loan() }
	lend        struct{ For time.Duration }
	giveBack    struct{}
	overdue     struct{}
)

func (lend) loan()     {}
func (giveBack) loan() {}
func (overdue) loan()  {}

// Receive sets a reminder, which wakes the loan even if it was passivated, moved, or stopped with all
// nodes meanwhile.
func (l loan) Receive(c *sharding.Context[loanMessage], msg loanMessage) error {
	switch m := msg.(type) {
	case lend:
		return c.Remind("overdue", time.Now().Add(m.For), overdue{})
	case giveBack:
		return c.CancelReminder("overdue")
	case overdue:
		r, _ := c.Reminder()
		l.notices <- fmt.Sprintf("%s: %s", c.ID(), r.Name)
	}
	return nil
}

func ExampleReminding_Remind() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "loans")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "library", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"desk"}, Preset: ddata.Local,
		Dir: dir, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	notices := make(chan string, 10)
	loans, err := sharding.Start(node, sharding.EntityType[loanMessage]{
		Identity:  sharding.Identity{Name: "Loan", Role: "desk"},
		Messages:  sharding.CBOR[loanMessage](lend{}, giveBack{}, overdue{}),
		New:       func(*sharding.Context[loanMessage]) sharding.Entity[loanMessage] { return loan{notices} },
		Reminders: sharding.Reminders{Enabled: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for id, msgs := range map[string][]loanMessage{
		"Ulysses": {lend{For: 10 * time.Millisecond}},
		"Emma":    {lend{For: time.Hour}, giveBack{}},
	} {
		for _, m := range msgs {
			if err := loans.Tell(ctx, id, m); err != nil {
				fmt.Println(err)
			}
		}
	}
	select {
	case n := <-notices:
		fmt.Println(n)
	case <-ctx.Done():
		fmt.Println(ctx.Err())
	}
	// Output: Ulysses: overdue
}
