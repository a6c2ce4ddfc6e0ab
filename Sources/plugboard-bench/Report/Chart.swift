// Draws a bench: a block of bars for each row, and lines for each series. Every bar and every linear
// scale begins at zero, because readers compare lengths. Each block has its own scale.

enum Chart {
    static let width = 980.0
    static let margin = 24.0
    private static let headLineHeight = 16.0

    /// The rows to draw if a report has more rows than this.
    static let headlines: Set<String> = [
        "publish", "publish-100000-keys", "1→1", "1→10", "1→100", "1→1000", "8→1", "1000-patterns-1-matches",
        "1→10-one-stopped", "round-trip-1", "round-trip-100", "idle-connection", "start",
    ]

    private static func rows(of report: Report) -> [Row] {
        if report.rows.count <= headlines.count { return report.rows }
        return report.rows.filter { headlines.contains($0.workload.name) }
    }

    /// An SVG file with the rows of the report (the most important ones if there are many) and with all
    /// series. It needs no other file and runs no script.
    static func svg(of report: Report) -> String {
        var drawing = Drawing(width: width)
        var y = head(of: report, in: &drawing)
        for row in rows(of: report) {
            y = BarBlock(row: row).draw(in: &drawing, from: y)
        }
        for growth in report.growth where !growth.systems.isEmpty {
            y = CurveBlock(growth: growth).draw(in: &drawing, from: y)
        }
        return drawing.svg(height: y + margin / 2, title: "plugboard bench: \(report.machine.text)")
    }

    /// A system's colour, the same in every block. Each server has one hue, which is paler for the system
    /// that does less.
    static func colour(of system: String) -> String {
        let colours = [
            "plugboard": "#2f81f7", "without": "#8c959f", "limit": "#8c959f",
            "redis SET+PUBLISH": "#d1453b", "redis PUBLISH": "#e88f88",
            "nats KV": "#2c974b", "nats publish": "#7cc492",
            "mosquitto retain": "#b8860b", "mosquitto publish": "#dcb65c",
        ]
        return colours[system] ?? "#8957e5"
    }

    /// Draws the title. Returns where the first block begins.
    private static func head(of report: Report, in drawing: inout Drawing) -> Double {
        var y = margin + 14
        drawing.words("plugboard bench", x: margin, y: y, .title)
        let runs =
            "medians of \(report.runs) runs of \(Digits.text(report.secondsPerRun)) s, whiskers from least to most"
        for line in [report.machine.text, "\(report.releases); \(runs)"] {
            y += headLineHeight
            drawing.words(line, x: margin, y: y, .faint)
        }
        return y + margin
    }
}
