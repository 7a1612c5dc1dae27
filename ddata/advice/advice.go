package advice

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
)

// Of says beside the error of a node that was refused which setting of it mends that. dir is its Config.Dir.
// Other errors stay as they are.
func Of(err error, dir string) error {
	var refused *membership.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Reason {
	case bootstrap.ReasonConfig:
		return fmt.Errorf("%w; Downing (the strategy), VotersMax, LeaseDuration and Epsilon (by Preset or Timing), "+
			"and the sizes and the seed "+
			"of Replication must be the same on all nodes, Leases must be one store, and Dir set on all or on none, "+
			"with nothing durable (an empty DurableKeys) on all or on none", err)
	case bootstrap.ReasonFormat:
		return fmt.Errorf("%w; run a build that speaks that level, and let Config.FormatMax not hold it below "+
			"(package format has the steps of an upgrade)", err)
	case bootstrap.ReasonDisk:
		return fmt.Errorf("%w; Config.Seeds name another cluster than the one whose data Config.Dir %s holds: set "+
			"Seeds right, or, to join that cluster as a "+
			"new node, give this node another directory and keep this one", err, dir)
	case bootstrap.ReasonCopy:
		return fmt.Errorf("%w; Config.Dir %s is a copy of that node's directory: remove it, this node then starts "+
			"from empty and fetches everything "+
			"from its peers", err, dir)
	}
	return err
}
