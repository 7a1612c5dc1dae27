package sharding_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
)

// A kept reference finds the shard of its entity once.
func ExampleRegion_Ref() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			cart := carts.Ref("cart-42")
			if err := cart.Tell(ctx, AddItem{"apple", 2}); err != nil {
				return err
			}
			total, err := sharding.Ask(ctx, cart, Total{})
			fmt.Println(total)
			return err
		})
	// Output: 2
}

// An Extractor reads the id of the entity and its message from a value, here a line of text.
func ExampleNewExtractor() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			lines := sharding.NewExtractor(carts, func(line string) (string, Command, error) {
				cart, item, ok := strings.Cut(line, " ")
				if !ok {
					return "", nil, errors.New("a line has a cart and an item")
				}
				return cart, AddItem{item, 1}, nil
			})
			if err := lines.Tell(ctx, "cart-42 pear"); err != nil {
				return err
			}
			fmt.Println(lines.Tell(ctx, "cart-42"))
			total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
			fmt.Println(total)
			return err
		})
	// Output:
	// a line has a cart and an item
	// 1
}

// stuck handles its first message until its node ends.
type stuck struct{ began chan<- struct{} }

func (s stuck) Receive(ctx *sharding.Context[Command], _ Command) error {
	close(s.began)
	<-ctx.Done()
	return nil
}

// OnEvent is given a Drop for each message that is not delivered, with the reason: what dead letters are
// elsewhere.
func ExampleEntityType_onDrop() {
	began, dropped := make(chan struct{}), make(chan sharding.Drop, 1)
	shop(func(t *sharding.EntityType[Command]) {
		t.OnEvent = func(e events.Event) {
			if d, ok := e.(sharding.Drop); ok {
				dropped <- d
			}
		}
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return stuck{began} }
	}, func(ctx context.Context, node *ddata.Node, carts *sharding.Region[Command]) error {
		for _, fruit := range []string{"apple", "pear"} {
			if err := carts.Tell(ctx, "cart-42", AddItem{fruit, 1}); err != nil {
				return err
			}
		}
		<-began
		if err := node.Close(); err != nil { // ends at once: the pear is still in the mailbox
			return err
		}
		d := <-dropped
		var why sharding.DropReason = d.Reason
		fmt.Println(d.ID, "lost", d.Message.(AddItem).Name, "for want of room:", why == sharding.DropMailboxFull)
		return nil
	})
	// Output: cart-42 lost pear for want of room: false
}

// The statistics of the cluster name the members that did not answer.
func ExampleRegion_ClusterStats() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, node *ddata.Node, carts *sharding.Region[Command]) error {
			if _, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{}); err != nil {
				return err
			}
			stats := carts.ClusterStats(ctx)
			fmt.Println(stats.Active(), "active, ready:", node.Health().Ready)
			fmt.Println(len(stats.Failed), "did not answer")
			return nil
		})
	// Output:
	// 1 active, ready: true
	// 0 did not answer
}
