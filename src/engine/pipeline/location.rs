//! Where in the pipeline file a stage writes what it is blamed for.

use super::expand::ConcreteStage;
use super::lexer;
use super::source::Span;
use super::template::Expanded;
use crate::engine::stage::Input;

/// Returns where a stage writes the reference of an input.
pub(crate) fn reference_place<S>(stage: &ConcreteStage<S>, input: &Input) -> Span {
    text_place(stage, &input.role, input.reference.text())
}

/// Returns where a stage writes a reference: the string that holds it, in the field of its role.
pub(crate) fn text_place<S>(stage: &ConcreteStage<S>, role: &str, reference: &str) -> Span {
    let text = &stage.text.text;
    let tokens = lexer::tokens(text);
    let field = role.split(['.', '[']).next().unwrap_or(role);
    let holder = lexer::fields(&tokens)
        .into_iter()
        .find(|found| found.depth == 1 && text[found.name.range()] == *field);
    let within =
        |span: Span| holder.is_none_or(|f| f.value.start <= span.start && span.end <= f.value.end);
    tokens
        .iter()
        .enumerate()
        .filter(|(at, _)| !tokens.get(at + 1).is_some_and(|next| next.is(b':')))
        .map(|(_, token)| token)
        .find(|token| within(token.span) && token.text(text).trim_matches('"') == reference)
        .map_or(stage.at, |token| {
            // The label hole inside the quotes would narrow the place to itself.
            let whole = stage.text.locate(token.span);
            let end = stage.text.locate(Span::new(token.span.end - 1, token.span.end)).end;
            Span::new(whole.start, end.max(whole.end))
        })
}

/// Returns where the value of a field is written.
pub(crate) fn field_value(text: &Expanded, name: &str) -> Option<Span> {
    let tokens = lexer::tokens(&text.text);
    let fields = lexer::fields(&tokens);
    let field = fields.iter().find(|field| text.text[field.name.range()] == *name)?;
    let start = text.locate(field.value);
    let end = text.locate(Span::new(field.value.end - 1, field.value.end)).end;
    Some(if end > start.start { Span::new(start.start, end) } else { start })
}
