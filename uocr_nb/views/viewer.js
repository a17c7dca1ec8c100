// Draws and links one page view. What it shows was drawn and escaped by Python; it makes no HTML of page text.
//
// Two entries: the inline script of a stored form (the section `core`, with a line that starts it), and `initialize`
// of a widget that is never displayed (the whole file). Both drive the same root.

//#section core
//#end

//#section compare
//#end

//#section edit
//#end

//#section live
//#end
