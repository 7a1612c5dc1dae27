package pace

// Slices returns the slices of one of some parts, out of count: first, and up to but without end. Each
// slice is in one part, and their numbers of slices differ by one at most.
func Slices(part, parts, count int) (first, end int) {
	return part * count / parts, (part + 1) * count / parts
}

// Parts returns the parts of one of some workers: from, and up to but without to. Each part has one
// worker. A worker has none if there are more workers than parts.
func Parts(worker, workers, parts int) (from, to int) {
	return worker * parts / workers, (worker + 1) * parts / workers
}
