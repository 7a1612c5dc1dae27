package documents

import (
	"regexp"
	"strings"
)

// A reader whose second language is English follows sentences of these lengths, in words.
const (
	averageMax  = 18
	sentenceMax = 40
)

// Ease is how long the sentences of a document are.
type Ease struct {
	Sentences int
	Words     int
}

// Average returns the words of a sentence.
func (e Ease) Average() float64 { return float64(e.Words) / float64(max(1, e.Sentences)) }

// sentenceEnd is what ends a sentence within a passage: a colon does, too, before a capital letter.
var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*\s+|:\s+(?:[A-Z])`)

// Ease measures the prose: paragraphs and points of lists, no tables, headings or code.
func (d *Document) Ease() (e Ease, findings []string) {
	for _, p := range d.passages {
		for _, s := range sentenceEnd.Split(p.text, -1) {
			n := len(strings.Fields(s))
			if n == 0 {
				continue
			}
			e.Sentences++
			e.Words += n
			if n > sentenceMax {
				findings = append(findings, d.finding(p.line, "a sentence of %d words, at most %d: %.60q…", n,
					sentenceMax, s))
			}
		}
	}
	if e.Average() > averageMax {
		findings = append(findings, d.finding(1, "sentences have %.1f words on the average, at most %d", e.Average(),
			averageMax))
	}
	return e, findings
}
