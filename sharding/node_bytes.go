package sharding

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
)

// LimitMailboxes bounds what waits in the mailboxes of all regions of a node together: messages of
// other nodes, in bytes as encoded. Regions take their parts in steps of 1 MiB. What finds no room
// is dropped with DropNodeFull. The default is 1 GiB, the least 1 MiB; a lower limit holds for what
// comes.
//
// Errors: ErrConfig.
func LimitMailboxes(node *ddata.Node, bytes int) error {
	if bytes < mailbox.NodeStep {
		return fmt.Errorf("%w: LimitMailboxes: %d bytes, want %d at least", ErrConfig, bytes, mailbox.NodeStep)
	}
	typesOf(node.Host()).mailboxes.SetMax(int64(bytes))
	return nil
}
