"""The words by which ``inside`` tells the first pages of PDFs apart; letters without accents."""

from __future__ import annotations

import re

LANGUAGES = {
    name: frozenset(words.split())
    for name, words in {  # small words; they stand in every text, and in most titles
        "en": "the of and to in a is that for with on as by this are from we an be it which",
        "de": "der die das und in den von zu mit sich des auf fur ist im dem nicht ein eine als"
        " auch werden aus an bei wird durch sind",
        "fr": "le la les de des du et en un une dans est pour que par sur qui au aux avec ce sont"
        " ne pas plus cette",
        "es": "el la los las de del y en un una que se por con para es al lo como su sus este"
        " esta mas entre",
        "pt": "o a os as de do da dos das e em um uma que se por com para no na nos nas ao como"
        " sua seu mais entre nao",
        "it": "il la lo gli le di del della dei delle e in un una che si per con da al alla nel"
        " nella sono come piu questo",
        "nl": "de het een van en in is dat op te voor met zijn die aan door niet als bij ook uit"
        " naar worden deze",
        "pl": "w i na z do sie jest nie to ze oraz od po przez dla jako przy tym ktore ich za",
        "sv": "och i att det som en pa ar av for med den till ett om har inte fran eller vid",
        "tr": "ve bir bu ile icin olarak olan da de en daha gibi cok veya ise gore arasinda",
        "id": "dan yang di dengan untuk dari pada dalam ini adalah itu terhadap oleh ke sebagai",
        "cs": "a v se na je ze pro s z do o jako k od ktere jsou by pri nebo",
        "ru": "и в на с по не что для как к из от а о это при их его также или за",
        "uk": "і в на з та що для як до не від у це при їх його також або за є",
        "fa": "و در به از که این را با است برای آن بر تا می های شده",
        "ar": "في من على إلى عن أن التي هذا هذه مع و بين كما الذي ما",
    }.items()
}

CV_HEADING = re.compile(
    r"(?:and|of|in|the|job|market|other|selected|recent|current|previous|past|main|invited"
    r"|visiting|peer|academic|professional|scientific|scholarly|technical|industry|relevant"
    r"|additional"
    r"|work(?:ing|s|inprogress)?|research(?:er)?|teaching|educational|employments?|experiences?"
    r"|positions?|appointments?|affiliations?|background|history|career|qualifications?|degrees?"
    r"|training|honou?rs?|awards?|prizes?|grants?|fellowships?|scholarships?|funding|distinctions?"
    r"|recognitions?|achievements?|publications?|papers?|articles?|reviewed|refereed|journals?"
    r"|progress|projects?|interests?|fields?|areas?|expertise|skills?|computer|software|programming"
    r"|languages?|services?|community|contributions?|activit(?:y|ies)|memberships?|refereeing"
    r"|reviewing|editorial|talks?|presentations?|seminars?|conferences?|workshops?|supervision"
    r"|mentor(?:ing|ship)|advising|students?|courses?|coursework|references|referees|personal"
    r"|information|details|contact|profile|citizenship|nationality|dissertation|thesis|leadership"
    r"|outreach|certifications?|patents?|internships?|education)+"
    r"|ausbildung|berufserfahrung|beruflicherwerdegang|publikationen|lehre|lehrerfahrung|sprachen"
    r"|personlichedaten|akademischerwerdegang|formation|experienceprofessionnelle|enseignement"
    r"|langues|etatcivil|formacionacademica|experienciaprofesional|publicaciones|docencia|idiomas"
    r"|datospersonales|istruzione|istruzioneeformazione|esperienzaprofessionale|pubblicazioni"
    r"|lingue|formacaoacademica|experienciaprofissional|publicacoes|образование|опытработы"
    r"|публикации"
)
"""A heading of a CV, as a key: letters and digits alone."""
CV_CORE = re.compile(
    r"educat|employ|experience|position|appointment|career|ausbildung|beruf|formation|formacion"
    r"|istruzione|formacao|образование"
)
"""What one heading of a CV says at least, as a key."""
CV_RUN_IN = re.compile(
    r"(?:Education|EDUCATION|(?:Academic )?(?:Employment|Positions?|Appointments?)"
    r"|(?:Work|Teaching|Professional) Experience|Research (?:Interests?|Fields)|Fields of Interest"
    r"|Contact Information|Publications|Working Papers|Honors|Awards|Fellowships|References"
    r"|Citizenship)\b"
)
"""A heading of a CV with its text beside it."""
DEGREE = re.compile(
    r"\b(?:Ph\. ?D|PhD|D\.? ?Phil|M\. ?(?:A|S|Sc|Phil|Res)\b|M(?:Sc|Phil|Res|BA|PA|PP)\b"
    r"|B\. ?(?:A|S|Sc)\b|B(?:Sc|A|S)\b|(?:Master|Bachelor|Doctor)(?:'s)? (?:of|in)\b|Licence"
    r"|Diplom|Laurea|(?:Assistant|Associate|Full|Adjunct|Visiting) Professor|Post-?[Dd]oc"
    r"|Lecturer|Research (?:Assistant|Fellow))"
)
"""What a CV says of one's degrees and posts."""
PAPER_BEGINS = re.compile(
    r"(?:abstract|kurzfassung|zusammenfassung|executivesummary|keywords|jel(?:codes?|class)"
    r"|resume(?:n|s|$)|resumo|riassunto|аннотация|ключевыеслова|摘要|关键词|要旨|چکیده|الملخص)(?!s)"
    r"|(?:1|i)?(?:introduction|einleitung|introduccion|introducao|introduzione|введение|引言|はじめに)$"
)
"""What stands between a paper's title and its text, as a key."""

CONTENTS = re.compile(
    r"(?:tableof)?contents|(?:inside|in)thisissue|inthisvolume|inhalt(?:sverzeichnis)?"
    r"|tabledesmatieres|sommaire|indice(?:general)?|sumario|содержание|оглавление|目录|目次"
)
"""The heading over a list of what is inside, as a key."""
OTHERS_LISTED = re.compile(
    r"(?:recent|previous|earlier|other|latest|forthcoming|last) (?:\w+ ){0,4}(?:papers|titles"
    r"|issues"
    r"|publications|numbers|reports)|(?:papers|titles|publications) in this series"
    r"|published in this series|zuletzt erschienen|bisher erschienen|derni(?:er|ère)s numéros"
    r"|ultimi numeri|últimos (?:números|títulos)",
    re.IGNORECASE,
)
ABOUT = re.compile(
    r"(?:comments? (?:on|to)|a (?:comment|note|reply) (?:on|to)|reply to|response to|rejoinder to"
    r"|reviews? of|discussion of|errat(?:um|a)(?: to| for)?|corrigend(?:um|a)(?: to)?"
    r"|correction(?: to)?|summary of|slides (?:to|for)|kommentar zu|commentaire sur"
    r"|comentario (?:a|sobre))\b\W*",
    re.IGNORECASE,
)
"""What stands before the title of a paper that others write about."""
SUPPLEMENT = re.compile(
    r"(?:online|web|technical|internet|electronic|data)?"
    r"(?:supplement(?:ary|al)?|appendix|appendices)"
    r"(?:to|for|not|material|information|data|file|appendix|table|figure|online|[a-z]?\d?$)"
    r"|a?(?:online|web|technical|internet|supplement(?:ary|al))(?:supplement|appendi(?:x|ces))"
    r"|supportinginformation|esm\d|additionalfile|intheformatprovidedby|materialsuplementario"
    r"|anhangzu|annexesa"
)
"""A line that opens a supplement, as a key."""
FORM_TITLE = re.compile(
    r"\b(?:application|order|registration|subscription|submission|consent|copyright"
    r"|declaration"
    r"|request|reimbursement|agreement|membership|enrol\w*ment|booking|nomination|evaluation"
    r"|review"
    r"|author\S*) form\b|copyright ?(?:transfer|assignment)|licen[cs]e to publish"
    r"|consent to publish"
    r"|\bantrag(?:sformular)?\b|\bformular\b|\bformulaire\b|\bformulario\b|\bmodulo di\b"
    r"|анкета|заявление"
)
FORM = re.compile(
    r"\bsignature|\bunterschrift|\bfirma\b|подпись|\bplease (?:complete|fill|print|return"
    r"|tick|sign)"
    r"|\bdate ?:|\bname ?:|\b(?:first|last|family|given) name|\be-?mail(?: address)? ?:"
    r"|\baddress ?:"
    r"|\bdatum ?:|\bfecha ?:|\btelephone ?:|\bphone ?:|\btick|\bzip|\bnombre ?:|\bnom ?:"
)
COVER = re.compile(
    r"this version is available at|terms of use|nutzungsbedingungen|downloaded (?:from|by|on)"
    r"|stable url|jstor is a not|your use of the jstor|to cite this version|hal id"
    r"|hal is a multi"
    r"|suggested citation|available at:? https?|electronic copy available|researchgate"
    r"|see discussions, stats|uploaded by|munich personal repec|mpra paper|repository copy"
    r"|please cite|accepted version|published version|standard.nutzungsbedingungen"
    r"|link to publish"
    r"|this (?:document|item) (?:is|was) (?:made )?available|cover ?(?:sheet|page)|enlighten"
    r"|to cite this article|full terms|take down|the following (?:article|paper)"
)
HOUSE = re.compile(
    r"\b(?:(?:journal|review|bulletin|bank|department|faculty|school|society) (?:of|for)"
    r"|proceedings"
    r"|series|universit\w*|institut\w*|cent(?:er|re) (?:of|for)|archive|repository|association"
    r"|foundation|econstor|jstor|ssrn|hal|research ?gate|(?:discussion|working) papers?"
    r"|technical report|introduction|zeitschrift|revista|revue|rivista|вестник|журнал"
    r"|университет"
    r"|make your|available|volume|issue)\b|^(?:abstract|keywords)",
    re.IGNORECASE,
)
"""In larger letters, what names who brings the paper, and not the paper."""
