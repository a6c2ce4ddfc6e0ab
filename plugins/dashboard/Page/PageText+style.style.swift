// Made by .ci/page from plugins/dashboard/page/style.css: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let styleCSS: StaticString = ##"""
/* */
"""##
}
