package passivation

// climber looks for the window with which most accesses meet entities that are active: it goes on
// in the direction that helped.
type climber struct {
	cfg    Climb
	every  int // accesses per step
	seen   int // since the last step
	active int // of these, those to active entities
	rate   float64
	step   float64
}

func newClimber(cfg Climb) *climber { return &climber{cfg: cfg, step: -cfg.InitialStep} }

func (c *climber) resize(limit int) { c.every = max(1, int(c.cfg.AdjustMultiplier*float64(limit))) }

// access counts one. Now and then it answers by how much the window's part of the limit should
// change.
func (c *climber) access(active bool) (change float64) {
	c.seen++
	if active {
		c.active++
	}
	if c.seen < c.every {
		return 0
	}
	rate := float64(c.active) / float64(c.seen)
	gain := rate - c.rate
	change = c.step
	if gain < 0 {
		change = -change
	}
	switch {
	case gain < c.cfg.RestartThreshold && -gain < c.cfg.RestartThreshold:
		c.step = change * c.cfg.StepDecay
	case change < 0:
		c.step = -c.cfg.InitialStep
	default:
		c.step = c.cfg.InitialStep
	}
	c.rate, c.seen, c.active = rate, 0, 0
	return change
}
