// Compares what a page shows with what really comes. Numbers and times that change from run
// to run may differ, `…` on the page stands for anything, and everything else must be the
// same.

import Foundation

/// Compares lines of the page with lines of programs.
enum Likeness {
    /// A line of JSON.
    static func ofJSON(_ shown: String, _ actual: String) -> Bool {
        matches(maskedJSON(shown), maskedJSON(actual))
    }

    /// A line for people, in columns. Their width doesn't matter.
    static func ofText(_ shown: String, _ actual: String) -> Bool {
        matches(maskedText(shown), maskedText(actual))
    }

    private static func maskedJSON(_ line: String) -> String {
        line.replacing(/"(revision|cause|client|pid|times)":\d+/) { "\"\($0.1)\":N" }
            .replacing(/"when":"[^"]+"/, with: "\"when\":T")
    }

    private static func maskedText(_ line: String) -> String {
        line.replacing(/\d{4}-\d\d-\d\dT[\d:.]+Z/, with: "T").replacing(
            #/^\d\d:\d\d:\d\d\.\d\d\dZ /#,
            with: "T "
        )
        .replacing(/(client|pid|revision) \d+/) { "\($0.1) N" }
        // On a busy machine, another warning may come before the question.
        .replacing(#/ \(\d+ times\)/#, with: "").replacing(#/ +/#, with: " ")
    }

    private static func matches(_ shown: String, _ actual: String) -> Bool {
        var rest = actual[...]
        let parts = shown.components(separatedBy: "…")
        for (place, part) in parts.enumerated() where !part.isEmpty {
            let isLast = place > 0 && place == parts.count - 1
            guard let found = rest.range(of: part, options: isLast ? [.backwards, .anchored] : []),
                place > 0 || found.lowerBound == rest.startIndex
            else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.isEmpty || parts.last?.isEmpty == true && parts.count > 1
    }
}

/// The clients of the page and the real ones, which have other numbers.
struct ClientNumbers {
    private var actual: [Substring: Substring] = [:]

    /// Learns from a reply which client is which, up to where the page leaves something out.
    mutating func learn(_ shown: String, _ line: String) {
        let mark = /client"?:? ?(\d+)/
        let told = shown.prefix { $0 != "…" }.matches(of: mark).map(\.1)
        for (number, real) in zip(told, line.matches(of: mark).map(\.1)) { actual[number] = real }
    }

    /// A request or a command of the page, as it must be sent.
    func translated(_ line: String) -> String {
        line.replacing(/("client":| resume )(\d+)/) { "\($0.1)\(actual[$0.2] ?? $0.2)" }
    }
}
