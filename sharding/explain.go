package sharding

import (
	"errors"
	"fmt"
	"time"
)

// explain adds to an error of a message that did not get through what the region knows of its shard.
func (r *core) explain(number uint32, err error) error {
	if why := r.trouble.of(number); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	rt := r.table.slots[number].Load()
	if rt != nil && rt.buffer == nil {
		return err
	}
	if why := r.awaitsLease(number); why != "" {
		return fmt.Errorf("%w (shard %d does not start: %s)", err, number, why)
	}
	if why := r.ctl.unhosted(); why != nil {
		return fmt.Errorf("%w: %w", err, why)
	}
	if why := r.mismatch.Load(); why != nil {
		return fmt.Errorf("%w (the coordinator has refused this node: %s)", err, *why)
	}
	if awaits := r.awaits.Load(); !r.registered.Load() || awaits != nil && len(*awaits) > 0 {
		return fmt.Errorf("%w (the home of shard %d is unknown or moving: %s)", err, number, r.waitsFor())
	}
	return fmt.Errorf("%w (the home of shard %d is unknown or moving)", err, number)
}

// explained is explain for the outcome of a question.
func (r *core) explained(id string, err error) error {
	if err == nil || !errors.Is(err, ErrTimeout) {
		return err
	}
	return r.explain(r.table.shardOf(id), err)
}

// unhosted implements controller.
func (c *control) unhosted() error {
	v := c.cluster.View()
	if v == nil || len(v.ByRole(c.cfg.Role)) > 0 {
		return nil
	}
	return fmt.Errorf("%w: no member of view %v has role %q", ErrUnknownRole, v.Epoch, c.cfg.Role)
}

// When messages wait and no member has the type's role, a warning says so: first after a time in which a host may well come up, then again and again.
const (
	lonelyFirst = time.Second
	lonelyAgain = 30 * time.Second
)

// warnUnhosted says that messages wait for a home that nobody can give. Tell has accepted them, so their senders do not hear of it.
func (c *control) warnUnhosted(now time.Time) {
	c.lonelyAt = time.Time{}
	waiting := c.r.limit.count.Load()
	if waiting == 0 {
		return
	}
	c.lonelyAt = now.Add(lonelyAgain)
	if why := c.unhosted(); why != nil {
		c.r.log.Warn("sharding: messages wait, and no member can host the type: is its Role misspelt?",
			"type", c.r.name, "role", c.cfg.Role, "buffered", waiting, "error", why)
	}
}
