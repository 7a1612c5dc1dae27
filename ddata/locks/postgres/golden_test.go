package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The tables are a promise to nodes of other builds that share the schema: another form has another format number.
func TestGoldenSchema(t *testing.T) {
	var lines []string
	for line := range strings.Lines(tables + fmt.Sprintf(meta, product, format, "id")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	golden.Formats(t, []golden.Sample{{Name: "schema", Bytes: []byte(strings.Join(lines, "\n"))}})
}
