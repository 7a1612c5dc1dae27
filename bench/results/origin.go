package results

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// originOf looks at this machine, and at the checkout in the working directory.
func originOf(ctx context.Context) Origin {
	o := Origin{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU()}
	o.CPU = Processor()
	kilobytes, err := strconv.ParseUint(strings.TrimSuffix(fieldOf("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err == nil {
		o.Memory = kilobytes << 10
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		o.Kernel = strings.TrimSpace(string(b))
	}
	if b, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output(); err == nil {
		o.Commit = strings.TrimSpace(string(b))
		b, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output()
		o.Modified = err != nil || len(b) > 0
	}
	return o
}

// Processor is the name of this machine's processors; empty: it is not known.
func Processor() string { return fieldOf("/proc/cpuinfo", "model name") }

// fieldOf returns what a file has behind a name and a colon; empty: it has not got it.
func fieldOf(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if n, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(n) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
