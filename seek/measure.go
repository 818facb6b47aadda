package seek

import "context"

const (
	measureChunk  = 64 << 10 // bytes of a look
	measureProbes = 4        // looks of a round
)

// Measure finds where a resource of unknown length ends: at lo at the earliest,
// at hi at the latest. Each round of looks leaves a fifth of what lies between.
func (w *Window) Measure(ctx context.Context, lo, hi int64) (end int64, err error) {
	look := func(off, n int64) Request {
		return Request{Range{off, n}, Tail, "how far it goes"}
	}
	for w.Info().Size < 0 && hi-lo > measureChunk {
		var requests []Request
		for i := range int64(measureProbes) {
			requests = append(requests, look(lo+(hi-lo)/(measureProbes+1)*(i+1), measureChunk))
		}
		data, err := w.Read(ctx, requests...)
		if err != nil {
			return 0, err
		}
		for i, r := range requests {
			if len(data[i]) == 0 {
				hi = r.Offset
				break
			}
			lo = max(lo, r.Offset+int64(len(data[i])))
		}
		hi = max(lo, hi)
	}
	if size := w.Info().Size; size >= 0 {
		return size, nil
	}
	data, err := w.Read(ctx, look(lo, hi-lo))
	if err != nil {
		return 0, err
	}
	return lo + int64(len(data[0])), nil
}
