package mediatest

// Args puts together arguments of ffmpeg: those that make inputs come before what
// is done with them, whatever their order in lists.
func Args(lists ...[]string) []string {
	var inputs, out []string
	for _, l := range lists {
		if len(l) > 1 && (l[0] == "-f" || l[0] == "-itsoffset") {
			inputs = append(inputs, l...)
		} else {
			out = append(out, l...)
		}
	}
	return append(inputs, out...)
}
