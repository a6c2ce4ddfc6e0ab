// A plugin's command line: read once, checked whole, before anything else happens.

import PlugboardPosix
import PlugboardWire

/// What a plugin was started with. Each plugin takes `--socket`, `--peer`, `--name` and
/// `--help` beside the options of its own.
///
/// ```swift
/// let file = PluginOption.text("file", "PATH", "where to write")
/// let arguments = PluginArguments.read("logger", "writes down what happens", options: [file])
/// await Plugin.run(arguments) { bus in
///     print(arguments.text(file) ?? "no file")
/// }
/// ```
public struct PluginArguments: Sendable {
    /// The name on the bus: `--name`, or else `PLUGBOARD_NAME`, or else the plugin's own.
    public let name: String
    /// The broker's socket where `--socket` names one.
    public let socket: String?
    /// A user whose broker is accepted beside this user's and root's, if `--peer` names one.
    public let peer: String?
    private let values: [String: String]

    /// Reads this process's command line. It ends the process after `--help` (status 0) and
    /// after a mistake (status 64, with a message that says which).
    public static func read(
        _ name: String,
        _ summary: String,
        options: [PluginOption] = []
    ) -> PluginArguments {
        let words = Array(CommandLine.arguments.dropFirst())
        do throws(PluginUsageError) {
            let arguments = try PluginArguments(parsing: words, name: name, options: options)
            guard arguments.has(.help) else { return arguments }
            Console.lines(helpText(name, summary, options))
            exit(0)
        } catch {
            Console.warn("\(name): \(error.message)")
            exit(64)
        }
    }

    /// Whether the option was given.
    public func has(_ option: PluginOption) -> Bool { values[option.name] != nil }

    /// The option's value as it was written; nil where it wasn't given.
    public func text(_ option: PluginOption) -> String? { values[option.name] }

    /// The value of a `PluginOption.integer`.
    public func integer(_ option: PluginOption) -> Int? { text(option).flatMap { Int($0) } }

    /// The value of a `PluginOption.number`.
    public func number(_ option: PluginOption) -> Double? { text(option).flatMap { Double($0) } }

    init(
        parsing words: [String],
        name: String,
        options: [PluginOption],
        environment: (String) -> String? = SocketPath.variable
    ) throws(PluginUsageError) {
        let options = options + Self.common
        var values: [String: String] = [:]
        var rest = words[...]
        while let word = rest.popFirst() {
            let (option, value) = try Self.read(word, &rest, options)
            guard values.updateValue(value, forKey: option.name) == nil else {
                throw PluginUsageError(message: "--\(option.name) stands twice")
            }
        }
        self.values = values
        socket = values[PluginOption.socket.name]
        peer = values[PluginOption.peer.name]
        do throws(UnknownUser) {
            _ = try TrustedUsers(naming: peer, environment: environment)
        } catch {
            throw PluginUsageError(message: "\(peer == nil ? TrustedUsers.variable : "--peer"): \(error)")
        }
        let named = environment("PLUGBOARD_NAME").flatMap { $0.isEmpty ? nil : $0 }
        self.name = values[PluginOption.ownName.name] ?? named ?? name
    }

    private static let common: [PluginOption] = [.socket, .peer, .ownName, .help]

    private static func read(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        _ options: [PluginOption]
    ) throws(PluginUsageError) -> (PluginOption, String) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let option = try find(word == "-h" ? "--help" : String(parts[0]), options)
        guard option.takesValue else {
            if parts.count == 2 { throw PluginUsageError(message: "--\(option.name) takes no value") }
            return (option, "")
        }
        guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
            throw PluginUsageError(message: "--\(option.name) needs a value: \(option.usage)")
        }
        if let fault = option.fault(of: value) {
            throw PluginUsageError(message: "--\(option.name) \(fault); it was \"\(value)\"")
        }
        return (option, value)
    }

    private static func find(_ spelling: String, _ options: [PluginOption]) throws(PluginUsageError)
        -> PluginOption
    {
        if let option = options.first(where: { "--" + $0.name == spelling }) { return option }
        let hint = Suggestion.hint(for: spelling, among: options.map { "--" + $0.name })
        let kind = spelling.hasPrefix("-") ? "there is no option" : "it takes no argument"
        throw PluginUsageError(message: "\(kind) \"\(spelling)\"; \(hint ?? "--help lists the options")")
    }

    static func helpText(_ name: String, _ summary: String, _ options: [PluginOption]) -> [String] {
        let options = options + common
        let width = options.map(\.usage.count).max() ?? 0
        let rows = options.map { option in
            "  \(option.usage)\(String(repeating: " ", count: width - option.usage.count))  \(option.help)"
        }
        let summary = summary.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return ["\(name): " + (summary.first ?? "")] + summary.dropFirst()
            + ["", "Usage: \(name) [OPTIONS]", "", "Options"] + rows
    }
}

/// What is wrong with a command line, in words for the person who wrote it.
struct PluginUsageError: Error, Equatable {
    let message: String
}

extension Console {
    static func lines(_ lines: [String]) {
        for line in lines { say(line) }
    }
}
