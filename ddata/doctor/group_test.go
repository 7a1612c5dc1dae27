package doctor

import (
	"errors"
	"testing"
)

// The limits of a control group are read as the kernel writes them.
func TestControlGroup(t *testing.T) {
	for _, c := range []struct {
		memory, cpu string
		wantMemory  uint64
		want        float64
	}{
		{"536870912\n", "50000 100000\n", 536870912, 0.5}, {"max\n", "max 100000\n", 0, 0}, {"", "", 0, 0},
	} {
		memory, processors := controlGroup(func(path string) ([]byte, error) {
			text := map[string]string{"/sys/fs/cgroup/memory.max": c.memory, "/sys/fs/cgroup/cpu.max": c.cpu}[path]
			if text == "" {
				return nil, errors.New("none")
			}
			return []byte(text), nil
		})
		if memory != c.wantMemory || processors != c.want {
			t.Errorf("%q, %q: %d, %v", c.memory, c.cpu, memory, processors)
		}
	}
}
