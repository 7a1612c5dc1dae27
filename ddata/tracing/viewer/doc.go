// Package viewer writes the story of a cluster as a page: a file that a browser shows, with a lane for each
// node, messages as arrows, faults, pauses and deaths marked, and the promise that was broken.
//
//	err := viewer.Page{Title: "seed 17", Records: log.Records(), Left: log.Left()}.WriteFile("seed17.html")
//
// # Nouns
//
//   - A Page is what stands in the file: records of package story, and what they are of.
//   - A lane is a line from the top to the bottom for a node, whatever its incarnation. It is dotted where the
//     node does not run, and broad where it stands still.
//   - A row is for a record. A mark is a row that stands out: a fault, a start, a pause, a violation.
//
// # Use
//
// The page shows all, or what is about one entity, one key, some nodes or some words; faults and the lives of
// nodes stay. It draws only the rows in its window: 50,000 records are filtered within the blink of an eye. It
// can be used by the keyboard alone, its rows are a list for readers of screens, and it is light or dark as the
// system is.
//
// # Guarantees
//
//   - The file is whole: it asks nothing of any network, works from a disk, and its policy forbids a browser to
//     run or load anything else.
//   - Whatever a record says is shown as text.
//
// # Not guaranteed
//
//   - Rows have the order of the records, and no scale of time. The times of live nodes are those of their clocks,
//     to within a microsecond.
//   - Of an arrow over more than 400 rows only the ends are drawn, unless it is chosen.
package viewer
