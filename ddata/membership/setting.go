package membership

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

// settings are all that must be alike, the machine's own first. VotersMax alone determines the
// voters.
func (c *Config) settings() []Setting {
	return append([]Setting{
		NewSetting("Strategy", c.Strategy), NewSetting("VotersMax", c.VotersMax), NewSetting("LeaseDuration", c.LeaseDuration), NewSetting("Epsilon", c.Epsilon),
	}, c.Compatibility...)
}

// hash stands for the settings in views.
func (c *Config) hash() uint64 {
	h := xxh3.New()
	fmt.Fprintf(h, "%d", Protocol)
	for _, s := range c.settings() {
		fmt.Fprintf(h, " %q=%q", s.Name, s.Value)
	}
	return h.Sum64()
}
