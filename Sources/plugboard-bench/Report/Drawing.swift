// A drawing as SVG text: shapes and words at given places, without scripts. Its colours follow the
// reader's choice of light or dark. A viewer that doesn't know this choice shows light colours.

/// A drawing of a given width. The height is given at the end.
struct Drawing {
    /// How words look.
    enum Style: String {
        case title, name, text, faint
    }

    enum Anchor: String {
        case start, middle, end
    }

    let width: Double
    private var shapes: [String] = []

    init(width: Double) {
        self.width = width
    }

    mutating func words(
        _ text: String, x: Double, y: Double, _ style: Style = .text, anchor: Anchor = .start
    ) {
        let place = anchor == .start ? "" : " text-anchor=\"\(anchor.rawValue)\""
        shapes.append(
            "<text x=\"\(number(x))\" y=\"\(number(y))\" class=\"\(style.rawValue)\"\(place)>"
                + "\(Self.escaped(text))</text>"
        )
    }

    /// Adds words in large letters. Returns the x of the next words on the same line.
    mutating func heading(_ text: String, x: Double, y: Double) -> Double {
        words(text, x: x, y: y, .name)
        return x + Double(text.count) * 8.2 + 12
    }

    mutating func bar(x: Double, y: Double, width: Double, height: Double, colour: String) {
        shapes.append(
            "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 1)))\" "
                + "height=\"\(number(height))\" rx=\"1.5\" fill=\"\(colour)\"/>"
        )
    }

    /// Adds a thin line. `kind` is a class of the style, such as `whisker` or `grid`.
    mutating func line(_ from: (x: Double, y: Double), _ to: (x: Double, y: Double), _ kind: String) {
        shapes.append(
            "<line x1=\"\(number(from.x))\" y1=\"\(number(from.y))\" x2=\"\(number(to.x))\" "
                + "y2=\"\(number(to.y))\" class=\"\(kind)\"/>"
        )
    }

    /// Adds a line through points, and marks each point.
    mutating func curve(_ points: [(x: Double, y: Double)], colour: String) {
        let places = points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
        shapes.append("<polyline points=\"\(places)\" class=\"curve\" stroke=\"\(colour)\"/>")
        for point in points {
            shapes.append(
                "<circle cx=\"\(number(point.x))\" cy=\"\(number(point.y))\" r=\"3\" fill=\"\(colour)\"/>"
            )
        }
    }

    /// The whole file.
    func svg(height: Double, title: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" width="\(number(width))" height="\(number(height))" \
        viewBox="0 0 \(number(width)) \(number(height))" role="img">
        <title>\(Self.escaped(title))</title>
        <style>\(Self.style)</style>
        <rect class="paper" width="100%" height="100%"/>
        \(shapes.joined(separator: "\n"))
        </svg>

        """
    }

    private static let style = """

        text { font: 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
        .title { font-size: 18px; font-weight: 600; }
        .name { font-size: 13px; font-weight: 600; }
        .faint { fill: #59636e; }
        .paper { fill: #ffffff; }
        .whisker { stroke: #1f2328; stroke-width: 1; }
        .grid { stroke: #d1d9e0; stroke-width: 1; }
        .curve { fill: none; stroke-width: 2; }
        @media (prefers-color-scheme: dark) {
          text { fill: #f0f6fc; }
          .faint { fill: #9198a1; }
          .paper { fill: #0d1117; }
          .whisker { stroke: #f0f6fc; }
          .grid { stroke: #3d444d; }
        }

        """

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            switch scalar {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            case "\"": "&quot;"
            // Characters that XML doesn't allow, not even escaped.
            case _ where scalar.value < 0x20: " "
            default: String(scalar)
            }
        }.joined()
    }

    private func number(_ value: Double) -> String {
        let text = Digits.fixed(value, 1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
