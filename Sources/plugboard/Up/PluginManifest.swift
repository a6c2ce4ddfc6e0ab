// The content of a `plugin.json`. It is read as strictly as requests: an unknown field is a typing
// mistake, and is reported with its place.

import PlugboardPosix
import PlugboardWire

/// A problem in a file, with its place.
struct PluginProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file, or `file:line:column`.
    let place: String
    let message: String

    var description: String { "\(place): \(message)" }
}

/// The declaration of a plugin.
struct PluginManifest: Equatable, Sendable {
    /// The file's name in a plugin's folder.
    static let fileName = "plugin.json"
    private static let bytesMax = 65_536

    /// The plugin's name on the bus and on the screen.
    var name = ""
    /// A path relative to the folder, or the name of an executable beside `plugboard`.
    var run = ""
    var arguments: [String] = []
    /// The arguments that `up --demo` adds.
    var demoArguments: [String] = []
    /// Keys and patterns that it may observe. Everything that these lists don't name is forbidden.
    var subscribes: [String] = []
    /// Keys and patterns that it publishes or emits.
    var publishes: [String] = []
    var calls: [String] = []
    var serves: [String] = []
    /// The keys whose other observers it may pause, step and resume.
    var controls: [String] = []
    var description = ""
    /// When it starts first.
    var start = StartRule.up
    /// For a plugin that starts on demand: after how many seconds without demand it is stopped.
    var idleSeconds: UInt64?
    /// Whether it is started again after it has ended.
    var restart = RestartRule.onFailure

    /// Reads a file. Throws a `PluginProblem` for the first mistake.
    init(path: String) throws(PluginProblem) {
        let text: [UInt8]
        // Reading a pipe would wait and block everything else.
        guard [.file, .folder, .missing].contains(FileStatus(path: path).kind) else {
            throw PluginProblem(place: path, message: "it is no file")
        }
        do {
            text = try InputFile.contents(path: path, limit: Self.bytesMax)
        } catch {
            throw PluginProblem(place: path, message: "\(error)")
        }
        do throws(JSONFault) {
            try self.init(parsing: text)
        } catch {
            let place = TextPlace(offset: error.offset, in: text)
            throw PluginProblem(place: "\(path):\(place.line):\(place.column)", message: error.message)
        }
    }

    /// Reads a text. The offset of a fault is the place of the mistake.
    init(parsing text: [UInt8]) throws(JSONFault) {
        let object = try JSONObject(parsing: text[...])
        var seen: Set<String> = []
        for member in object.members {
            guard seen.insert(member.name).inserted else {
                throw JSONFault(offset: member.offset, message: "\"\(member.name)\" stands twice")
            }
            do throws(FieldFault) {
                try take(member)
            } catch {
                throw JSONFault(offset: member.offset, message: error.message)
            }
        }
        for (field, value) in [("name", name), ("run", run)] where value.isEmpty {
            throw JSONFault(offset: 0, message: "\"\(field)\" is missing")
        }
    }

    /// The plugin's rights, in the form that the broker expects.
    var permission: [UInt8] {
        let lists = ObjectWriter().adding("subscribe", strings: subscribes)
            .adding("publish", strings: publishes).adding("emit", strings: publishes)
            .adding("call", strings: calls).adding("serve", strings: serves)
        return controls.isEmpty ? lists.bytes : lists.adding("control", strings: controls).bytes
    }

    private struct FieldFault: Error {
        let message: String
    }

    private static let fields = [
        "name", "run", "arguments", "demo_arguments", "subscribes", "publishes", "calls", "serves",
        "controls", "description", "start", "idle", "restart",
    ]

    private mutating func take(_ member: JSONObject.Member) throws(FieldFault) {
        switch member.name {
        case "name": name = try Self.name(member)
        case "run": run = try Self.string(member)
        case "arguments": arguments = try Self.strings(member)
        case "demo_arguments": demoArguments = try Self.strings(member)
        case "subscribes": subscribes = try Self.patterns(member)
        case "publishes": publishes = try Self.patterns(member)
        case "calls": calls = try Self.patterns(member)
        case "serves": serves = try Self.patterns(member)
        case "controls": controls = try Self.patterns(member)
        case "description": description = try Self.string(member)
        case "restart": restart = try Self.word(member, RestartRule.self)
        case "start": start = try Self.word(member, StartRule.self)
        case "idle": idleSeconds = try Self.seconds(member)
        default:
            if member.name.hasPrefix("x-") { return }
            let hint = Suggestion.hint(for: member.name, among: Self.fields)
            let known = "it may have \(Self.fields.joined(separator: ", "))"
            throw FieldFault(message: "there is no field \"\(member.name)\"; \(hint ?? known)")
        }
    }

    private static func string(_ member: JSONObject.Member) throws(FieldFault) -> String {
        guard let text = member.value.string else {
            throw FieldFault(message: "\"\(member.name)\" is a string, not \(member.value.kindName)")
        }
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw FieldFault(
                message: "\"\(member.name)\" is \(text.isEmpty ? "empty" : "text with a NUL in it")"
            )
        }
        return text
    }

    private static func strings(_ member: JSONObject.Member) throws(FieldFault) -> [String] {
        guard let strings = member.value.strings else {
            throw FieldFault(message: "\"\(member.name)\" is an array of strings")
        }
        guard !strings.contains(where: { $0.utf8.contains(0) }) else {
            throw FieldFault(message: "\"\(member.name)\" has a NUL in it")
        }
        return strings
    }

    private static func word<Rule: RawRepresentable<String> & CaseIterable>(
        _ member: JSONObject.Member, _: Rule.Type
    ) throws(FieldFault) -> Rule {
        let word = try string(member)
        if let rule = Rule(rawValue: word) { return rule }
        let words = Rule.allCases.map(\.rawValue)
        let hint = Suggestion.hint(for: word, among: words).map { "; \($0)" } ?? ""
        throw FieldFault(
            message: "\"\(member.name)\" is one of \(words.joined(separator: ", ")), not \"\(word)\"\(hint)"
        )
    }

    /// Seconds, from one to a day.
    private static func seconds(_ member: JSONObject.Member) throws(FieldFault) -> UInt64 {
        guard let seconds = member.value.integer, (1...86_400).contains(seconds) else {
            throw FieldFault(message: "\"\(member.name)\" is a number of seconds, 1 to 86400")
        }
        return seconds
    }

    private static func patterns(_ member: JSONObject.Member) throws(FieldFault) -> [String] {
        let patterns = try strings(member)
        for pattern in patterns {
            let fault = Pattern.fault(Array(pattern.utf8).span)
            if let fault {
                throw FieldFault(
                    message:
                        "\"\(pattern)\" in \"\(member.name)\" is not a key or a pattern: \(fault.rawValue)"
                )
            }
        }
        return patterns
    }

    /// A name that the broker accepts for a client.
    private static func name(_ member: JSONObject.Member) throws(FieldFault) -> String {
        let name = try string(member)
        let isPlain = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPlain, name.utf8.count <= Limits.nameBytesMax, !name.hasPrefix("#"), !name.hasPrefix("$")
        else {
            let rule = "1 to \(Limits.nameBytesMax) bytes, no control character, no # or $ at the beginning"
            throw FieldFault(message: "\"name\" is \(rule)")
        }
        // The broker would take it away from `up`, which speaks for all plugins under this name.
        guard name != SupervisorClient.name else {
            throw FieldFault(message: "\"name\" is not \"\(name)\": that is plugboard up itself")
        }
        return name
    }
}

/// The line and the column of a byte in a text, as editors count them.
struct TextPlace: Equatable {
    let line: Int
    let column: Int

    init(offset: Int, in text: [UInt8]) {
        let before = text.prefix(offset)
        line = before.count { $0 == 0x0A } + 1
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        column = String(decoding: before[lineStart...], as: UTF8.self).count + 1
    }
}
