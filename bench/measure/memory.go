package measure

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// PeakMemory is the most memory that this process ever had in use, the pages of its files included.
func PeakMemory() (int64, error) { return kilobytes("/proc/self/status", "VmHWM:") }

// FreeMemory is the memory that processes can have, in bytes; as good as endless where the system does not say.
func FreeMemory() int64 {
	if n, err := kilobytes("/proc/meminfo", "MemAvailable:"); err == nil {
		return n
	}
	return math.MaxInt64
}

// kilobytes is a row of a file that the system makes, in bytes.
func kilobytes(file, row string) (int64, error) {
	all, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(all)) {
		var kb int64
		if _, err := fmt.Sscanf(line, row+" %d kB", &kb); err == nil {
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("%s does not say %s", file, row)
}
