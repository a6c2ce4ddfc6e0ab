// The options of `subscribe` besides the keys: which values, which parts of them, how often, and when. The
// broker does the work; this file only writes the request.

import PlugboardMemory
import PlugboardWire

extension CommandOption {
    static let condition = CommandOption(
        "where", "JSON", "only values that meet this, such as '{\"/price\":{\"<\":100}}'"
    )
    static let parts = CommandOption(
        "fields", "POINTERS", "only these parts, when one changes: /price,/stock/de"
    )
    static let differences = CommandOption(
        flag: "diff", "after the first value, only what changed, as a merge patch"
    )
    static let shortest = CommandOption(
        "every",
        short: "e",
        "SECONDS",
        "at most one line for each key in that time; the last one always comes",
        .seconds
    )
    static let delivery = CommandOption(
        "delivery",
        "KIND",
        "what to keep when this reads too slowly: latest (the newest of each key) or all",
        .choice(["latest", "all"])
    )
    static let phase = CommandOption(
        "phase", "N", "0 to 9: observers of a lower phase get events first (5)", .integer(0...9)
    )

    /// These options of `subscribe`.
    static let asking: [CommandOption] = [.condition, .parts, .differences, .shortest, .delivery, .phase]
}

/// The options as fields of a request.
enum SubscribeFields {
    private static let everySecondsMax = 86_400.0

    static func added(to request: ObjectWriter, _ invocation: Invocation) throws -> ObjectWriter {
        let forms = [CommandOption.parts, .field, .differences, .noValues].filter(invocation.has)
        if forms.count > 1 {
            throw CommandError.usage(
                "--\(forms[0].name) and --\(forms[1].name) are two answers to the question what to show"
            )
        }
        var request = try withCondition(request, invocation)
        if let text = invocation.text(.parts) {
            request = request.adding("fields", strings: try pointers(text))
        } else if let pointer = invocation.text(.field) {
            request = request.adding("fields", strings: [pointer])
        }
        request = request.adding("diff", invocation.has(.differences), unless: false)
            .adding("every", try milliseconds(invocation.seconds(.shortest)))
        // A command for each event needs each event.
        let kind = invocation.text(.delivery) ?? (invocation.has(.everyEvent) ? "all" : nil)
        if let kind { request = request.adding("delivery", string: kind) }
        return request.adding("phase", invocation.integer(.phase))
    }

    /// Only `--where`.
    static func withCondition(_ request: ObjectWriter, _ invocation: Invocation) throws -> ObjectWriter {
        guard let text = invocation.text(.condition) else { return request }
        return request.adding("where", json: try json(text))
    }

    private static func json(_ text: String) throws -> ArraySlice<UInt8> {
        do throws(JSONFault) {
            return ValueArgument.oneLine(try JSONValue(parsing: Array(text.utf8)[...]).bytes)
        } catch {
            throw CommandError.usage(
                "--where is \(error.message), at byte \(error.offset)",
                hint: "for example: --where '{\"/price\":{\"<\":100}}'"
            )
        }
    }

    private static func pointers(_ text: String) throws -> [String] {
        let pointers = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        if let wrong = pointers.first(where: { !$0.hasPrefix("/") }) {
            throw CommandError.usage(
                "--fields takes JSON Pointers with commas between, and \"\(SystemText.ofPlain(wrong))\" is none",
                hint: "a part begins with /, such as /\(wrong.isEmpty ? "price" : wrong)"
            )
        }
        return pointers
    }

    private static func milliseconds(_ seconds: Double?) throws -> UInt64? {
        guard let seconds else { return nil }
        guard seconds >= 0.001, seconds <= everySecondsMax else {
            throw CommandError.usage("--every is 0.001 to \(Int(everySecondsMax)) seconds")
        }
        return UInt64((seconds * 1_000).rounded())
    }
}
