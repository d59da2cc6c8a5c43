"""Titles and sentences in many languages, for made papers."""

TITLES = (
    ("en", "Minimum Wages and Youth Employment: Evidence from Spanish Provinces"),
    ("en", "The Effects of Flexible Offices on Firm Efficiency"),
    ("en", "Monetary Policy Surprises and Household Debt"),
    ("en", "Slow Glaciers, Fast Rivers: A Model of Sediment Transport"),
    ("en", "Do Teachers Matter? Evidence from 1,200 Rural Schools in Kenya"),
    ("en", "Optimal Taxation Revisited"),
    ("en", "Trade Liberalization and Wage Inequality in Mexico, 1987-2004"),
    ("en", "Why Are Some Bank Runs Self-Fulfilling? A Reconsideration"),
    ("en", "A Note on the Stability of Two-Sided Matching"),
    ("en", "Social Capital & Trust in Post-Soviet Cities"),
    ("en", "Bayesian Inference in Large Vector Autoregressions with Hierarchical Shrinkage Priors"),
    ("en", "Annual Report on the Swiss Economy 2019"),
    ("de", "Die Auswirkungen der Geldpolitik auf die Beschäftigung in Österreich"),
    ("de", "Größe und Effizienz öffentlicher Häfen: eine empirische Untersuchung"),
    ("de", "Zur Frage der Rentenreform in alternden Gesellschaften"),
    ("fr", "L'effet des politiques d'activation sur le chômage des jeunes"),
    ("fr", "Les déterminants de la fécondité dans les régions françaises"),
    ("fr", "Une analyse de la réforme fiscale en Côte d'Ivoire"),
    ("es", "El impacto de la educación en los salarios de las mujeres"),
    ("es", "Crecimiento económico y desigualdad en los países de América Latina"),
    ("es", "La economía informal en Perú: un análisis por regiones"),
    ("it", "Gli effetti della riforma delle pensioni sul mercato del lavoro"),
    ("it", "La domanda di energia nelle famiglie italiane"),
    ("pt", "Os determinantes da inflação no Brasil: uma análise econométrica"),
    ("pt", "Educação e mobilidade social nas regiões do Nordeste"),
    ("pl", "Wpływ polityki pieniężnej na inflację w Polsce"),
    ("pl", "Rynek pracy i migracje w krajach Europy Środkowej"),
    ("ru", "Влияние денежно-кредитной политики на экономический рост в регионах России"),
    ("ru", "Неравенство доходов и социальная мобильность населения"),
    ("uk", "Вплив децентралізації на розвиток громад України"),
    ("tr", "Türkiye'de enflasyon ve işsizlik ilişkisi üzerine bir inceleme"),
    ("zh", "财政分权与地方政府土地财政行为研究"),
    ("zh", "人口老龄化对居民消费结构的影响分析"),
    ("fa", "بررسی تاثیر سیاست پولی بر رشد اقتصادی در ایران"),
)
NAMES = (
    "Jane Example",
    "Jürgen Beispiel",
    "María Ejemplo",
    "I. I. Primerov",
    "Li Wei",
    "A. Author",
)
BODIES = {
    "en": "This study looks at data from a survey of the people that we have in"
    " the sample and finds"
    " that the results are robust to many changes of the specification. We"
    " discuss what this means"
    " for the literature and for those who decide in practice.",
    "de": "Der Beitrag zeigt, dass die Ergebnisse auch bei einer anderen"
    " Abgrenzung der Stichprobe"
    " gelten und nicht von der Wahl des Zeitraums abhängen. Die Daten sind aus einer Befragung.",
    "fr": "Cet article montre que les résultats sont robustes pour une large"
    " classe de modèles et que"
    " la taille de l'échantillon ne change pas les conclusions. Les"
    " données sont issues d'une enquête.",
    "es": "En este trabajo se muestra que los resultados son robustos a los"
    " cambios de la muestra y que"
    " las conclusiones no dependen de la elección del período. Los datos son de una encuesta.",
    "it": "Questo lavoro mostra che i risultati sono robusti alle scelte del campione e che le"
    " conclusioni non dipendono dal periodo. I dati sono di una indagine sulle persone.",
    "pt": "Este trabalho mostra que os resultados são robustos às escolhas da amostra e que as"
    " conclusões não dependem do período. Os dados são de uma pesquisa com as pessoas.",
    "pl": "W artykule pokazano, że wyniki nie zależą od wyboru próby i że wnioski są trwałe. Dane"
    " pochodzą z badania, które jest prowadzone od wielu lat na reprezentatywnej grupie.",
    "ru": "В статье показано, что результаты не зависят от выбора выборки и что выводы являются"
    " устойчивыми. Данные получены из опроса, который проводится на протяжении многих лет.",
    "uk": "У статті показано, що результати не залежать від вибору вибірки і що"
    " висновки є стійкими."
    " Дані отримано з опитування, яке проводиться протягом багатьох років для всіх.",
    "tr": "Bu çalışma, sonuçların örneklem seçimine bağlı olmadığını ve bulguların daha geniş bir"
    " çerçevede de geçerli olduğunu göstermektedir. Veriler bir anket ile"
    " toplanmış ve bu konu için"
    " kullanılmıştır.",
    "zh": "本文利用调查数据进行实证检验,结果表明主要结论是稳健的,并且"
    "不依赖于样本的选择。文章还讨论了这些发现的含义。",
    "fa": "این مقاله نشان می دهد که نتایج به انتخاب نمونه بستگی ندارد و یافته ها"
    " از نظر آماری معنا دار"
    " است. داده ها از یک پیمایش به دست آمده است و برای سال های مختلف موجود است.",
}
RETITLED = (
    (
        "en",
        "Minimum wages and youth employment in Spain",
        "Do minimum wages kill jobs? Youth employment in Spain",
    ),
    (
        "en",
        "Learning to forecast in the lab: evidence from experiments",
        "Learning to Forecast: Evidence from Experiments in the Lab",
    ),
    (
        "en",
        "Trade, growth &amp; inequality: a <i>global</i> view",
        "Trade, Growth and Inequality",
    ),
    (
        "es",
        "Regional growth and convergence in Bolivia",
        "Crecimiento regional y convergencia en Bolivia",
    ),
    (
        "de",
        "Inflation expectations of German households",
        "Inflationserwartungen deutscher Haushalte",
    ),
    (
        "ru",
        "Regional budgets and the crisis",
        "Региональные бюджеты и кризис",
    ),
    (
        "fr",
        "The demand for $\\alpha$-stable assets in France",
        "La demande d'actifs stables en France",
    ),
    (
        "zh",
        "Fiscal decentralization and land finance in China",
        "财政分权与土地财政关系研究",
    ),
)
"""Language, the title on the page and the one on the paper, which bears another by now."""
_SHEETS = """\
cover: IDEAS and MPRA
Munich Personal RePEc Archive
{title}
{who}
November 2024
Online at https://mpra.example/123/
MPRA Paper No. 123, posted 05 Nov 2024 12:00 UTC

cover: SSRN
{title}
{who}
This version: November 2024
Electronic copy available at: https://ssrn.example/abstract=1

cover: JSTOR
{title}
Author(s): {who}
Source: Journal of Examples, Vol. 3, No. 2 (Jun., 1984), pp. 1-20
Published by: Example Society
Stable URL: https://www.jstor.example/stable/1
Accessed: 01-11-2024 12:00 UTC
JSTOR is a not-for-profit service that helps scholars
Your use of the JSTOR archive indicates your acceptance of the Terms & Conditions of Use

cover: HAL
HAL Id: hal-0123
https://hal.example/hal-0123
Submitted on 5 Nov 2024
HAL is a multi-disciplinary open access archive
{title}
{who}
To cite this version:
{who}. {title}. Revue, 2024, 3 (2), pp.1-20. hal-0123

cover: ResearchGate
See discussions, stats, and author profiles for this publication at: https://www.researchgate.example/1
{title}
Article in Journal of Examples - November 2024
1 author:
{who}
All content following this page was uploaded by {who} on 05 November 2024.

cover: econstor
econstor
Make Your Publications Visible.
{who}
Working Paper
{title}
IZA Discussion Papers, No. 12
Suggested Citation: {who} (2024) : {title}, IZA Discussion Papers, No. 12, Bonn
This Version is available at: https://hdl.example/1
Standard-Nutzungsbedingungen:
Die Dokumente auf EconStor dürfen zu eigenen Zwecken gespeichert werden.
Terms of use:
Documents in EconStor may be saved for your personal purposes.

a CV
Curriculum Vitae
{who}
Education
Ph.D. in Economics, University of Example, 2011
M.A., University of Example, 2007
Employment
Professor, University of Example, since 2015
Publications
{title}, Journal of Examples, 2019
Labour markets in the long run, Review of Examples, 2017
Teaching
Econometrics I, Microeconomics
Languages
English, French

a CV without the word
{who}
Department of Economics, University of Example
Research Interests
Labour economics and public finance
Education
Ph.D., 2011
Working Papers
{title}
A further paper on something else
Teaching Experience
Econometrics
Awards
Best paper 2014
References
A. Smith, B. Jones

a Lebenslauf
Lebenslauf
{who}
Persönliche Daten
geboren 1980 in Beispielstadt
Ausbildung
Promotion 2011
Berufserfahrung
Professor seit 2015
Publikationen
{title}
Sprachen
Deutsch, Englisch

a CV with other headings
{who}
Department of Decisions, Example University
Email: quill@example.org
Position
Associate Professor, Example University, 2020-present
Research Interest
Primary: labour economics
Education
Ph.D. Economics, Example College, 2012
Research
Publications
1. {title}. Journal of Examples, 94, (2019): 67-81. (with A. Other)

a CV with headings beside their text
{who}
Contact Information Department of Economics Mobile: +1 555 0100
Fields Industrial Organization, Applied Microeconomics
Education Ph.D., Economics, Example University, 2024 (Anticipated)
M.A., Economics, Example University, 2019
Fellowships Example Fellowship, 2022
Working Papers {title}
with A. Other, November 2024

a résumé in capitals
{who}
quill@example.org
E DUCATION
University of Example, PhD in Economics 2017-2021
P UBLICATIONS
{who}. {title}. In Proceedings of Examples, 2019.
P ROFESSIONAL & R ESEARCH E XPERIENCE
Research Assistant, Example Bank, 2019
A WARDS
Best Student Prize, 2016

an issue that says what is inside
August 2026
Forum of Examples
Inside this Issue
A1: Program Coordinator Well-Being Initiative: A Year in Review
A2: {title}
A3: Building a Collaborative Network of Examples
Publisher Forum of Examples

a form
Journal of Examples
Copyright Transfer Form
Please complete and return this form with your paper.
Title: {title}
Name: ____________________________
E-mail: __________________________
Address: _________________________
I hereby transfer the copyright of the paper named above.
Signature: _______________________
Date: ____________

an order form
Order Form
Please print and return by fax.
First name ______________________
Last name _______________________
Address: ________________________
Telephone: ______________________
Signature _______________________

contents of an issue
Journal of Examples
Volume 12, Number 3, November 2024
Contents
Editorial ........ 1
{title}
{who} ........ 3
Another view of the world and its people
B. Jones ........ 31
Book reviews ........ 60
"""
SHEETS = {
    block.split("\n")[0]: tuple(block.strip().split("\n")[1:]) for block in _SHEETS.split("\n\n")
}
"""Name -> the lines of a page that is no paper."""
