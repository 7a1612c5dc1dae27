package sharding

import (
	"errors"
	"fmt"
)

// explain adds to an error of a message that did not get through what the region knows of its shard.
func (r *core) explain(number uint32, err error) error {
	rt := r.table.slots[number].Load()
	if rt != nil && rt.buffer == nil {
		return err
	}
	if why := r.ctl.unhosted(); why != nil {
		return errors.Join(err, why)
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
